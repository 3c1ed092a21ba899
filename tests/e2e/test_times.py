# SPDX-License-Identifier: Apache-2.0
"""Addresses are symbolized by the mapping at the time of the event."""

import subprocess

import pytest

import conftest
from conftest import PROGS, STRAIGHT, TIMEOUT, alys, assert_law, events_of

pytestmark = [pytest.mark.bpf, pytest.mark.beside]

TURNS, CALLS = 20, 50


def assert_named(trace, tmp_path, turns=TURNS):
    """Asserts that each plugin's calls have its own name, file and line; returns them."""
    events = list(events_of(trace, tmp_path))
    for size, name in ((901, "first"), (902, "other")):
        calls = [e for e in events if e.get("size") == size and e["kind"] == "alloc"]
        assert len(calls) == turns * CALLS
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
    """A running program is not held: it may have gone on when its mappings are read."""
    trace = tmp_path / "t.alys"
    program = started.program("c_swap", "wait").wait_ready()
    tracer = started.tracer(*options, "-p", program.pid, "-o", trace).recording()
    assert program.go().line() == str(TURNS)
    tracer.stop()
    assert program.finish() == 0
    assert_named(trace, tmp_path)


def code(tmp_path, name):
    """A file with position-independent code that gets malloc's address as an argument."""
    source, out = tmp_path / f"lib_{name}.c", tmp_path / f"{name}.so"
    source.write_text(f"void *site_{name}(void *(*ask)(unsigned long), unsigned long n)\n"
                      "{\n\tvoid *volatile p = ask(n);\n\treturn p;\n}\n")
    subprocess.run(["gcc", "-g", "-O1", "-shared", "-fPIC", "-nostdlib", "-Wl,-z,separate-code", source, "-o", out],
                   check=True, timeout=TIMEOUT)
    return out


@pytest.mark.parametrize("turns, pause", [(200, 0), (4, 60000)], ids=["at once", "slowly"])
def test_code_that_no_linker_tells_of(started, tmp_path, turns, pause):
    """Code that no dynamic linker loads: reports of mappings and of calls are processed in the order of their times."""
    trace = tmp_path / "t.alys"
    program = started.program("c_loader", code(tmp_path, "first"), code(tmp_path, "other"), turns, pause).wait_ready()
    tracer = started.tracer("-p", program.pid, "-o", trace).recording()
    assert program.go().line() == "done"
    tracer.stop()
    assert program.finish() == 0
    assert_named(trace, tmp_path, turns)
