# SPDX-License-Identifier: Apache-2.0
"""
Files that the helper cannot load prove their cheap exits in the program's first calls. Each call counts once, whatever processes
start, fork or exit meanwhile.
"""

import re
import shutil
import subprocess

import pytest

from conftest import ROOT, TIMEOUT, assert_law

pytestmark = [pytest.mark.bpf, pytest.mark.beside]

CALLS = 5000  # of c_trial, a round


@pytest.fixture(scope="module")
def static(tmp_path_factory):
    """c_trial with a statically linked collector."""
    program = tmp_path_factory.mktemp("static") / "c_static_trial"
    subprocess.run(["gcc", "-O2", ROOT / "tests/prog/c_trial.c", "-l:libgc.a", "-lpthread", "-ldl", "-o", program],
                   check=True, timeout=TIMEOUT)
    return program


def library(folder):
    folder.mkdir()
    return shutil.copy("/usr/lib/x86_64-linux-gnu/libgc.so.1", folder / "libgc.so.1")


def with_library(started, path):
    """Runs the program with the collector at `path`."""
    return started.program("c_trial", env={"LD_LIBRARY_PATH": str(path.parent)}).wait_ready()


def begin_rounds(program, cnt, how=b"g"):
    program.proc.stdin.write(how * cnt)
    program.proc.stdin.flush()


def rounds(program, cnt, how=b"g"):
    begin_rounds(program, cnt, how)
    await_rounds(program, cnt)


def await_rounds(program, cnt):
    for _ in range(cnt):
        assert program.line() == "round"


def decided(tracer):
    """The number of trials that succeeded; none may have failed."""
    assert " 0 did not" in tracer.text or "did not:" not in tracer.text, tracer.text
    return len(re.findall(r" first calls agreed, 0 did not: results are read at cheap exits", tracer.text))


def recording(started, tmp_path, programs, *args):
    return started.tracer("-p", ",".join(str(p.pid) for p in programs), *args, "-o", tmp_path / "t.alys").recording()


def assert_recorded(tmp_path, tracer, cnt):
    tracer.stop()
    book = assert_law(tmp_path / "t.alys")
    assert cnt <= book.rows["recorded-alloc"] <= cnt + 20, book  # what stdio and fork take comes on top


@pytest.mark.parametrize("turns", ["one after the other", "in turn"])
def test_processes_of_one_deleted_library(started, tmp_path, turns):
    path = library(tmp_path / "own")
    programs = [with_library(started, path) for _ in range(3)]
    path.unlink()
    tracer = recording(started, tmp_path, programs)
    for k in range(2):
        for program in programs:
            rounds(program, 1 if turns == "in turn" else 2 - 2 * k)
    assert_recorded(tmp_path, tracer, 6 * CALLS)
    assert decided(tracer) == 1


def test_a_replaced_library_is_another_file(started, tmp_path):
    path = library(tmp_path / "own")
    first = with_library(started, path)
    path.unlink()
    shutil.copy("/usr/lib/x86_64-linux-gnu/libgc.so.1", path)
    second = with_library(started, path)
    path.unlink()
    tracer = recording(started, tmp_path, [first, second])
    for program in (first, second, first):
        rounds(program, 1)
    assert_recorded(tmp_path, tracer, 3 * CALLS)
    assert decided(tracer) == 2


@pytest.mark.parametrize("kind", ["deleted", "static"])
def test_a_child_born_during_a_trial(started, tmp_path, static, kind):
    """A child's calls count in the trial as well, and are exact before and after its end."""
    if kind == "static":
        program = started.program(str(static)).wait_ready()
    else:
        path = library(tmp_path / "own")
        program = with_library(started, path)
        path.unlink()
    tracer = recording(started, tmp_path, [program], "--follow")
    rounds(program, 1, b"f")
    rounds(program, 1)
    rounds(program, 1, b"f")
    assert_recorded(tmp_path, tracer, 3 * CALLS)
    assert decided(tracer) == 1


def test_a_process_that_ends_during_its_trial(started, tmp_path, static):
    """The process exits before it made a call; the trial goes on in the other one."""
    programs = [started.program(str(static)).wait_ready() for _ in "ab"]
    tracer = recording(started, tmp_path, programs)
    assert programs[0].finish() == 0
    rounds(programs[1], 2)
    assert_recorded(tmp_path, tracer, 2 * CALLS)
    assert decided(tracer) == 1


def seen(d, program):
    return d.top(program.pid).get("site_trial", 0)


def start(d, started, path):
    program = started.program(str(path)).wait_ready()
    d.await_probes(path)
    return program


@pytest.mark.parametrize("decided_before", [False, True])
def test_a_start_in_another_container(overlays, started, daemon, static, decided_before):
    """The file is one inode with a path in each container: a new trial in one does not disturb calls in the other."""
    folders = overlays(static)
    d = daemon("--exe", f"*/{static.name}", "--sample", "bytes:1")
    first = start(d, started, folders[1] / static.name)
    if decided_before:
        rounds(first, 1)
        d.until(lambda: "first calls agreed" in d.log())
    begin_rounds(first, 100)
    second = start(d, started, folders[2] / static.name)
    rounds(second, 2)
    await_rounds(first, 100)
    d.ctl("off")
    assert seen(d, first) == (100 + decided_before) * CALLS
    assert seen(d, second) == 2 * CALLS
    d.end()
