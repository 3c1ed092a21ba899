# SPDX-License-Identifier: Apache-2.0
"""--profile allocations for report -p and the daemon (for record, see test_windows_malloc.py): frees are not probed, and outputs say so."""

import re
import urllib.request

import pytest

from conftest import TIMEOUT, alys, law

pytestmark = [pytest.mark.bpf, pytest.mark.beside]

TURNS = "8000"


def program_of(started):
    return started.program("c_rates", "60", "steady", TURNS).wait_ready().go()


def test_report_of_a_process(started):
    program = program_of(started)
    done = alys("report", "-p", program.pid, "-d", "1", "-s", "bytes:1k", "--profile", "allocations")
    assert done.returncode == 0, done.stderr
    assert "frees were not recorded (--profile allocations)" in done.stdout
    assert re.search(r"^Allocations .*\n +[\d,]+ .* site_rest ", done.stdout, re.M), done.stdout
    program.kill()


def test_daemon(started, daemon):
    program = program_of(started)
    d = daemon("-p", program.pid, "-s", "bytes:1k", "--profile", "allocations", "--listen", "0")
    d.until(lambda: d.top(program.pid, "alloc_space").get("site_rest", 0) > 0)
    assert d.status()["tracing"].endswith("; frees are not recorded")
    with urllib.request.urlopen(d.status()["http"].rstrip("/") + "/metrics", timeout=TIMEOUT) as answer:
        found = dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if not line.startswith("#"))
    assert found["alys_frees_recorded"] == "0"
    hits = {kind: int(found[f'alys_hits_total{{kind="hits-{kind}"}}']) for kind in ("alloc", "free")}
    assert hits["alloc"] > 0 and hits["free"] == 0
    assert sum(n for name, n in d.top(program.pid, "inuse_space").items() if name) == 0
    program.kill()
    d.until(lambda: d.traced() == 0)
    law(d)


def test_a_trace_has_its_frees_or_not(tmp_path):
    done = alys("report", "--profile", "allocations", tmp_path / "t.alys")
    assert done.returncode == 2 and "--profile" in done.stderr and "are for -p PID without a trace" in done.stderr
