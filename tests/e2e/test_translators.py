# SPDX-License-Identifier: Apache-2.0
"""Programs under valgrind or an emulator are not traced: their code is copied, including probes."""

import os
import re
import shutil
import signal
import subprocess
import time

import pytest

from conftest import PROGS, STRAIGHT, TIMEOUT, alys, assert_law

pytestmark = pytest.mark.bpf

TRANSLATORS = {
    "none": ["/usr/bin/valgrind", "-q", "--tool=none"],
    "memcheck": ["/usr/bin/valgrind", "-q"],
    "callgrind": ["/usr/bin/valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=/dev/null"],
    "cachegrind": ["/usr/bin/valgrind", "-q", "--tool=cachegrind", "--cachegrind-out-file=/dev/null"],
    "qemu": ["/usr/bin/qemu-x86_64"],
}
NAMES = {"qemu": "qemu"}


def translated(started, kind, program="c_busy"):
    command = TRANSLATORS[kind]
    return started.program(command[0], *command[1:], PROGS / program)


def goes_on(program, seconds=2):
    """The program goes on allocating through any probes there are; it checks its blocks itself."""
    program.go()
    time.sleep(seconds)
    assert program.proc.poll() is None
    assert program.finish() == 0
    assert re.match(r"rounds [1-9]\d{3,}", program.line())


@pytest.mark.parametrize("kind", TRANSLATORS)
def test_attaching_is_refused(started, tmp_path, kind):
    program = translated(started, kind).wait_ready()
    done = alys("-p", program.proc.pid, "-o", tmp_path / "t.alys")
    assert done.returncode != 0
    assert re.search(rf"process {program.proc.pid} runs under {NAMES.get(kind, 'valgrind')}, ", done.stderr), done.stderr
    assert len(done.stderr.splitlines()) == 1 and not (tmp_path / "t.alys").exists()
    goes_on(program)


@pytest.mark.parametrize("kind", ["none", "qemu"])
def test_one_that_runs_meets_no_shared_probe(started, tmp_path, kind):
    """Shared probes of another, followed process must not be in this one."""
    stranger = translated(started, kind).wait_ready()
    program = started.program("c_fork").wait_ready()
    tracer = started.tracer("--follow", "-p", program.proc.pid, "-o", tmp_path / "t.alys").recording()
    assert f"process {stranger.proc.pid} runs under" in tracer.text, tracer.text
    goes_on(stranger)
    program.go()
    program.truths(3)
    assert program.finish() == 0
    assert tracer.wait() == 0, tracer.text
    assert assert_law(tmp_path / "t.alys", lost=None).recorded > 300
    # A message states the price of that.
    said = alys("info", tmp_path / "t.alys").stdout
    assert re.search(r"note +children-late +2 ", said), said
    assert not re.search(r"frees of blocks from before the recording$", said, re.M), said


@pytest.mark.parametrize("kind", ["none", "callgrind"])
def test_one_that_begins_later_meets_none_for_long(started, tmp_path, kind):
    """Shared probes are taken away when a translator begins; the traced process keeps its own."""
    program = started.program("c_busy").wait_ready()
    tracer = started.tracer("--follow", "-p", program.proc.pid, "-o", tmp_path / "t.alys").recording()
    program.go()
    stranger = translated(started, kind).wait_ready()
    goes_on(stranger)
    assert program.finish() == 0
    assert tracer.wait() == 0, tracer.text
    assert "a shared probe would kill it" in tracer.text
    book = assert_law(tmp_path / "t.alys", lost=None)
    assert book.recorded > 10000 and book.rows["probes-renewed"] == 1


@pytest.mark.parametrize("follow", [[], ["--follow"]])
@pytest.mark.parametrize("kind", ["none", "cachegrind"])
def test_program_that_becomes_a_translated_one(started, tmp_path, kind, follow):
    """A traced shell that executes valgrind is no longer traced, and survives."""
    command = " ".join(TRANSLATORS[kind])
    program = started.program("/bin/sh", "-c", f"read x; exec {command} {PROGS / 'c_busy'}")
    tracer = started.tracer(*follow, "-p", program.proc.pid, "-o", tmp_path / "t.alys").recording()
    program.proc.stdin.write(b"\n")
    program.proc.stdin.flush()
    program.wait_ready()
    goes_on(program)
    assert tracer.wait() == 0, tracer.text
    assert re.search(rf"process {program.proc.pid} .*runs under valgrind", tracer.text)


def test_command_under_an_emulator_is_refused(tmp_path):
    done = alys("-o", tmp_path / "t.alys", "--", *TRANSLATORS["qemu"], PROGS / "c_busy")
    assert done.returncode != 0 and "runs under qemu" in done.stderr, done.stderr


@pytest.mark.parametrize("follow", [[], ["--follow"]])
def test_command_under_valgrind_runs_to_its_end(tmp_path, follow):
    done = alys(*follow, "-o", tmp_path / "t.alys", "--", *TRANSLATORS["none"], "/bin/sh", "-c", "echo lived; exit 3",
                env=STRAIGHT)
    assert done.returncode == 3 and "runs under valgrind" in done.stderr, done.stderr
    assert "lived" in done.stdout


def test_library_of_a_translator_is_recognized(started, tmp_path):
    """A look-alike of DynamoRIO: the files that are visible from outside."""
    library = tmp_path / "libdynamorio.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "/dev/null", "-o", library], check=True, timeout=TIMEOUT)
    program = started.program("c_busy", env={**os.environ, "LD_PRELOAD": str(library)}).wait_ready()
    done = alys("-p", program.proc.pid, "-o", tmp_path / "t.alys")
    assert done.returncode != 0 and "runs under DynamoRIO" in done.stderr, done.stderr
    program.go()
    assert program.finish() == 0


def test_library_of_a_translator_that_is_gone_when_it_is_told(started, tmp_path):
    """The library was mapped and unmapped again before the process was examined: the event alone is no evidence."""
    shutil.copy(PROGS / "c_swap", tmp_path)
    shutil.copy(PROGS / "lib_other.so", tmp_path)
    shutil.copy(PROGS / "lib_first.so", tmp_path / "frida-agent.so")
    (tmp_path / "lib_first.so").symlink_to("frida-agent.so")
    program = started.program(str(tmp_path / "c_swap"), "wait").wait_ready()
    tracer = started.tracer("-p", program.proc.pid, "-o", tmp_path / "t.alys").recording()
    tracer.proc.send_signal(signal.SIGSTOP)
    program.go().line()
    tracer.proc.send_signal(signal.SIGCONT)
    tracer.stop()
    assert program.finish() == 0
    assert assert_law(tmp_path / "t.alys", lost=None).recorded >= 2 * 2 * 20 * 50


def test_library_loaded_twice_without_the_right_to_run(started, tmp_path):
    """As in an unknown emulator: the guest's libc is mapped without execute permission beside its own."""
    program = started.program("c_twice", "emulator").wait_ready()
    done = alys("-p", program.proc.pid, "-o", tmp_path / "t.alys")
    assert done.returncode != 0 and "runs under an emulator" in done.stderr, done.stderr
    program.go()
    assert program.finish() == 0


@pytest.mark.parametrize("how", ["parser", "file"])
def test_who_maps_files_to_read_them_is_none(started, tmp_path, how):
    """Profilers, debuggers and programs that print backtraces (Rust, libbacktrace) map libraries to read them: they are traced."""
    program = started.program("c_twice", how).wait_ready()
    tracer = started.tracer("-p", program.proc.pid, "-o", tmp_path / "t.alys").recording()
    program.go()
    assert program.finish() == 0
    assert tracer.wait() == 0, tracer.text
    assert assert_law(tmp_path / "t.alys", lost=None).recorded >= 1000
