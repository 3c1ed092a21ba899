# SPDX-License-Identifier: Apache-2.0
"""
Real probes on aarch64: the kernel of Debian 13 on an emulated machine runs the cross-built program and test programs, one after another
(tests/machine-job). What it recorded is read here, by the program of this machine, and compared with what the programs say. More of
it is in test_arm64_long.py.
"""

import json

import pytest

from arm64_machine import (Plan, assert_exact, assert_no_probe_is_left, assert_own_probes, assert_predicted, assert_whole, boot,
                           truths)
from conftest import assert_law, events_of
from golang import follows

PLAN = Plan("6.12", exact={"c_libc": 1, "c_threads": 1, "cpp_exceptions": 1, "c_gcthreads": 1, "alloc.debug": 1},
            recorded={"c_usdt": 1, "c_plt": 1}, live=("served",), killed=True)


pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """What it left: a folder."""
    return boot(PLAN, tmp_path_factory.mktemp("machine"))


@pytest.mark.parametrize("name", PLAN.exact)
def test_exact(machine, tmp_path, name):
    assert_exact(machine, tmp_path, name, PLAN.exact[name])


@pytest.mark.parametrize("name", PLAN.exact)
def test_stacks_are_whole(machine, tmp_path, name):
    assert_whole(machine, tmp_path, name)


def test_signals_in_the_plt(machine, tmp_path):
    """They interrupt each instruction of a stub, and of the entry that binds it: four, and three more at least."""
    assert (machine / "c_plt.status").read_text() == "tracer 0\ntarget 0\n", (machine / "c_plt.err").read_text()
    (pid, sites), = truths(machine, "c_plt").items()
    made = sites["site_handler"]["allocs"]
    stacks = [event["stack"] for event in events_of(machine / "c_plt.alys", tmp_path) if event["kind"] == "alloc" and event["tgid"] == pid]
    names = [[frame.get("name", "?") for frame in stack] for stack in stacks]
    seen = [stack for stack in names if "site_handler" in stack]
    assert made >= 7 and len(seen) == made
    assert all(follows(stack, ["site_handler", "handler", "calls", "main", "_start"]) for stack in seen), seen
    rows = assert_law(machine / "c_plt.alys").rows
    assert {row for row in rows if row.startswith("stack-end-")} == {"stack-end-complete"}


def test_own_probes(machine, tmp_path):
    assert_own_probes(machine, tmp_path)


def test_results_are_known_of_a_program_at_work(machine):
    """What test_exact compares."""
    assert_predicted(machine, "c_gcthreads")


def test_killed_recording_leaves_no_probe(machine):
    assert_no_probe_is_left(machine)


def of_pages(trace, tmp_path):
    """What was recorded while a page was made; how much else."""
    seen, others = {"allocs": 0, "bytes": 0, "reallocs": 0, "realloc_bytes": 0}, 0
    for event in events_of(trace, tmp_path):
        if not any("Pages#page" in frame.get("name", "") for frame in event["stack"]):
            others += 1
            continue
        count, size = ("reallocs", "realloc_bytes") if event["kind"] == "realloc" else ("allocs", "bytes")
        seen[count] += event["kind"] != "free"
        seen[size] += event["size"]
    return seen, others


def test_server_at_work(machine, tmp_path):
    """Whole stacks, each call that the server counts, and the same answers before, while and after it is recorded."""
    assert (machine / "serving.status").read_text() == "tracer 0\nload 0\nchanged 0\n", (machine / "serving.err").read_text()
    pages = [(machine / f"serving.{when}").read_bytes() for when in ("before", "during", "after")]
    assert b"<h1>Page 7</h1>" in pages[0] and pages == [pages[0]] * 3
    assert json.loads((machine / "serving.load").read_bytes().partition(b"\r\n\r\n")[2])[0]["id"] == 0
    first, second = [json.loads(line)["sites"]["page"] for line in (machine / "serving.own").read_text().splitlines() if line.startswith("{")]
    truth = {name: second[name] - first[name] for name in first}
    seen, others = of_pages(machine / "serving.alys", tmp_path)
    assert truth["allocs"] > 60 * 20 and seen == truth
    assert others > 1000, "no one else was served meanwhile"
    book = assert_law(machine / "serving.alys")
    assert {row for row in book.rows if row.startswith("stack-end-")} == {"stack-end-complete"}
