# SPDX-License-Identifier: Apache-2.0
"""Only the program's own frees are recorded, not those within allocators, and each is matched to its block."""

import os
import re
import subprocess

import pytest

from conftest import PROGS, ROOT, STRAIGHT, TIMEOUT, alys, assert_law

pytestmark = [pytest.mark.bpf, pytest.mark.beside]

LIBRARIES = "/usr/lib/x86_64-linux-gnu/"
BLOCKS = 10000  # of c_ownfree


def build(tmp_path, *flags):
    program = tmp_path / "ownfree"
    subprocess.run(["gcc", "-O2", "-fno-builtin", "-D_GNU_SOURCE", *flags, ROOT / "tests/prog/c_ownfree.c", "-o", program],
                   check=True, timeout=TIMEOUT)
    return program


def record(started, tmp_path, program, *args, env=None):
    program = started.program(str(program), env={**os.environ, **(env or {})}).wait_ready()
    tracer = started.tracer(*args, "-p", program.proc.pid, "-o", tmp_path / "t.alys").recording()
    program.go()
    assert program.finish() == 0
    assert tracer.wait() == 0, tracer.text
    return assert_law(tmp_path / "t.alys")


def info(tmp_path):
    return alys("info", tmp_path / "t.alys").stdout


def counted(text, name):
    found = re.search(rf" {name} +(\d+)", text)
    return int(found.group(1)) if found else 0


@pytest.mark.parametrize("flags", [["-DHEADER=0"], ["-DHEADER=16"], ["-DHEADER=0", "-DCALL"], ["-DHEADER=16", "-DCALL"],
                                   ["-DHEADER=64", "-O1", "-fno-omit-frame-pointer"], ["-DHEADER=16", "-O0"]])
def test_free_of_a_program_that_hands_on(started, tmp_path, flags):
    record(started, tmp_path, build(tmp_path, *flags))
    text = info(tmp_path)
    assert counted(text, "recorded-alloc") == counted(text, "recorded-free") == BLOCKS, text
    assert "frees of blocks" not in text and re.search(r"in use +0 blocks, 0 B", text), text
    assert counted(text, "nested") + counted(text, "in-flight") == 2 * BLOCKS


@pytest.mark.parametrize("library", ["libmemusage.so", "libjemalloc.so.2", "libtcmalloc.so.4", "libtcmalloc_minimal.so.4",
                                     "libmimalloc.so.2", ""])
def test_frees_under_preloaded_allocators(started, tmp_path, library):
    env = {"LD_PRELOAD": LIBRARIES + library} if library else None
    record(started, tmp_path, PROGS / "c_caches", env=env)
    text = info(tmp_path)
    # Plus what pthread_create allocates.
    assert 30000 <= counted(text, "recorded-alloc") < 30200
    assert 30000 <= counted(text, "recorded-free") <= counted(text, "recorded-alloc")
    assert "frees of blocks" not in text, text


@pytest.mark.parametrize("args", [[], ["--sample", "bytes:512"]])
def test_thread_caches_are_the_allocators_own(started, tmp_path, args):
    record(started, tmp_path, PROGS / "c_caches", *args)
    text = info(tmp_path)
    assert "frees of blocks" not in text, text
    if not args:
        assert counted(text, "thread-cache") > 1000
        assert re.search(r"skipped +thread-cache .*C library", text)


@pytest.mark.parametrize("start", ["attach", "from its start"])
def test_forked_child_frees_its_parents_blocks(started, tmp_path, start):
    if start == "attach":
        program = started.program("c_fork").wait_ready()
        tracer = started.tracer("--follow", "-p", program.proc.pid, "-o", tmp_path / "t.alys").recording()
        program.go()
        program.truths(3)
        assert program.finish() == 0
        assert tracer.wait() == 0, tracer.text
    else:
        done = alys("--follow", "-o", tmp_path / "t.alys", "--", PROGS / "c_fork", env=STRAIGHT)
        assert done.returncode == 0, done.stderr
    text = info(tmp_path)
    assert re.search(r"^ +300 frees by forked children of blocks that they got from their parent$", text, re.M), text
    assert "before the recording" not in text
    assert re.search(r"in use +600 blocks", text)


def test_children_that_execute_free_nothing_of_ours(tmp_path):
    """A child between fork or vfork and exec, as in shells and posix_spawn, frees its own copy only."""
    done = alys("--follow", "-o", tmp_path / "t.alys", "--", "/bin/bash", "-c",
                "for i in 1 2 3; do /bin/true; (/bin/echo $i); done; python3 -c 'import os; os.posix_spawn(\"/bin/true\", [\"true\"], {})'")
    assert done.returncode == 0, done.stderr
    text = info(tmp_path)
    assert not re.search(r"\d+ frees of blocks from before", text), text
