# SPDX-License-Identifier: Apache-2.0
"""Sampled recordings keep to 1 % of the programs' CPU time unless an option says otherwise."""

import os
import re
import signal
import subprocess

import pytest

from conftest import ALYS, PROGS, STRAIGHT, TIMEOUT, alys, law
from windows import work

pytestmark = pytest.mark.bpf

TURNS = 8000


def recorded(trace, words, *options):
    """The lines of `info` about windows and the limit."""
    done = subprocess.run([ALYS, "--force", "-o", trace, *options, "--", PROGS / words[0], *words[1:]], env=STRAIGHT,
                          capture_output=True, text=True, timeout=TIMEOUT, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    return dict(re.findall(r"^(windows|max overhead) +(.*)$", alys("info", trace).stdout, re.M))


def test_record(tmp_path):
    trace, busy = tmp_path / "t.alys", ("c_rates", "2", "steady", work(TURNS))
    found = recorded(trace, busy, "-s", "bytes:512k")
    assert found["max overhead"] == "1 %" and float(found["windows"].split()[0]) < 100
    assert not recorded(trace, busy, "-s", "bytes:512k", "--max-overhead", "0")
    assert not recorded(trace, busy)  # every call is asked for
    seldom = "c_rates", "2", "steady", work(4000000)  # its work between two allocations: a millisecond or more
    assert recorded(trace, seldom, "-s", "bytes:512k")["windows"].startswith("100 % of the time covered; ")


def test_report_of_a_process(started):
    program = started.program("c_rates", "60", "steady", work(TURNS)).wait_ready().go()
    done = subprocess.run([ALYS, "report", "-p", str(program.pid), "-d", "1", "-s", "bytes:4k", "--show", "alloc"], capture_output=True, text=True,
                          timeout=TIMEOUT, stdin=subprocess.DEVNULL)
    assert done.returncode == 0 and "probes were in for windows of time" in done.stdout, (done.stdout, done.stderr)
    program.kill()


def test_daemon(started, daemon):
    program = started.program("c_rates", "60", "steady", work(TURNS)).wait_ready().go()
    d = daemon("-p", program.pid, "--sample", "bytes:4k", budget=True)
    d.until(lambda: re.search(r"in [1-9]\d* windows; .* of 1 % allowed", d.status().get("windows", "")))
    os.kill(program.pid, signal.SIGSTOP)
    d.until(lambda: "in flight" not in d.status()["account"])
    law(d)
    program.kill()
