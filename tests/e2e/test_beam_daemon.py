# SPDX-License-Identifier: Apache-2.0
"""The daemon and an Erlang VM: profiles by Erlang's functions, and names of processes through the broker."""

import re

import pytest

from browser_driver import need
from conftest import assert_law, law
from erlang import WORDS, by_process, compiled, vm  # noqa: F401 (fixtures)
from served import functions, served  # noqa: F401 (a fixture)
from web_driver import wait_for

pytestmark = [pytest.mark.bpf, pytest.mark.beside]

ENDLESS = 1000000000


def assert_shares(found):
    """{function: bytes} of calls by chance."""
    for name, words in WORDS.items():
        assert abs(found[name] / sum(found[name] for name in WORDS) - words / sum(WORDS.values())) < 0.05, found


def enough(found):
    return all(found.get(name, 0) > 1 << 20 for name in WORDS)


def test_profiles(served, vm, tmp_path):
    """Over HTTP, by ctl and on disk."""
    need("go")
    program = vm("chance", ENDLESS, "+JPperf", "true").go()
    server = served("-p", program.pid, "--allocator", "beam", "--max-overhead", "0", "--profile-dir", tmp_path / "p", "--every", "1h")
    url = f"{server.url}/debug/pprof/allocs?pid={program.pid}"
    wait_for(lambda: enough(functions(url, "alloc_space")))
    assert_shares(functions(url, "alloc_space"))
    assert_shares(server.top(program.pid, "alloc_space"))
    server.ctl("rotate")
    wait_for(lambda: list((tmp_path / "p").glob("*.pb.gz")))
    server.until(lambda: server.status()["profiles"].startswith("1 written, 0 failed"))
    (path,) = (tmp_path / "p").glob(f"beam.smp-{program.pid}-*.pb.gz")
    assert_shares(functions(path, "alloc_space"))
    assert server.status()["table"][program.pid] == "beam.smp"
    server.ctl("off")
    law(server)
    program.kill()


def test_names_of_erlang_processes(daemon, vm, tmp_path):
    """The collector has no rights: the broker reads the VM's atoms."""
    program = vm("named", 20000, "+JPperf", "true")
    d = daemon("-p", program.pid, "--allocator", "beam", "--sample", "bytes:1", "--profile-dir", tmp_path / "p", "--profile-format", "alys",
               "--every", "1h")
    d.until(lambda: d.traced() == 1)
    pids = program.go().truths()[0]["answer"]
    d.end()
    (trace,) = (tmp_path / "p").glob("*.alys")
    rows = by_process(trace)
    called = {name: rows[pid]["called"] for name, pid in pids.items()}
    assert called == {"registered": "words_café", "late": "late_one", "spawned": "words:calls/2", "fun": "erlang:apply/2"}
    assert_law(trace)
    assert program.finish() == 0


def test_budget(daemon, vm):
    """Within windows: shares and the total are estimates, whose part of the time and price the status has."""
    program = vm("chance", ENDLESS, "+JPperf", "true").go()
    d = daemon("-p", program.pid, "--allocator", "beam", "--sample", "bytes:64k", budget=True)
    told = lambda: re.search(r"([\d.]+) % of the time covered, in (\d+) windows; .* of 1 % allowed", d.status().get("windows", ""))
    d.until(lambda: told() and int(told().group(2)) >= 8)
    assert 0 < float(told().group(1)) < 50
    assert_shares(d.top(program.pid, "alloc_space"))
    d.ctl("off")
    law(d)
    program.kill()
