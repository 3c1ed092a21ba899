"""Mappings have times: an address is named by what lay there when its event happened."""

import pytest

import conftest
from conftest import PROGS, STRAIGHT, alys, assert_law, events_of

TURNS, CALLS = 20, 50


def assert_named(trace, tmp_path):
    """Each plugin's calls by its own name, its file and line with it; gives them all."""
    events = list(events_of(trace, tmp_path))
    for size, name in ((901, "first"), (902, "other")):
        calls = [e for e in events if e.get("size") == size and e["kind"] == "alloc"]
        assert len(calls) == TURNS * CALLS
        assert {conftest.site_of(e) for e in calls} == {f"site_{name}"}, size
        assert all(f"lib_{name}.c" in str(e["stack"]) for e in calls)
    assert_law(trace)
    return [e for e in events if e.get("size") in (901, 902) and e["kind"] == "alloc"]


def test_plugins_that_take_each_other_s_place(tmp_path):
    trace = tmp_path / "t.alys"
    done = alys("-q", "-o", trace, "--", PROGS / "c_swap", env=STRAIGHT)
    assert (done.returncode, done.stdout) == (0, f"{TURNS}\n"), done.stderr
    assert all("main" in str(e["stack"]) for e in assert_named(trace, tmp_path))


@pytest.mark.parametrize("options", [(), ("--follow",)])
def test_plugins_of_a_running_program(started, tmp_path, options):
    """It is not held: it may be far ahead when its mappings are looked at."""
    trace = tmp_path / "t.alys"
    program = started.program("c_swap", "wait").wait_ready()
    tracer = started.tracer(*options, "-p", program.pid, "-o", trace).recording()
    assert program.go().line() == str(TURNS)
    tracer.stop()
    assert program.finish() == 0
    assert_named(trace, tmp_path)
