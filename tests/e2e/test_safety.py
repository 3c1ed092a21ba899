# SPDX-License-Identifier: Apache-2.0
"""Whatever happens to the tracer, the target continues unharmed."""

import os
import re
import shutil
import signal
import subprocess
import time
import urllib.request

import pytest

from conftest import (PROGS, STRAIGHT, TIMEOUT, alys, assert_clean, assert_law, assert_same, changed_text, events_of, has_events,
                      ledger, leftovers, probe_programs, tally, wait_until)

pytestmark = pytest.mark.bpf


@pytest.mark.parametrize("build", ["torture.debug", "torture.release"])
def test_finalizers_that_switch_fibers(started, tmp_path, build):
    """Return probes must not be used: they would make the kernel kill this program with SIGILL."""
    program = started.program(build, 80000).wait_ready()
    tracer = started.tracer("-p", program.pid, "-o", tmp_path / "t.alys").recording()
    program.go()
    assert re.match(r"made \d+ finalized \d+ switches [1-9]", program.line())
    assert program.finish() == 0
    assert tracer.wait() == 0, tracer.text
    assert assert_law(tmp_path / "t.alys", lost=None).recorded > 50000


def test_finalizers_that_switch_fibers_from_the_start(tmp_path):
    done = alys("-o", tmp_path / "t.alys", "--", PROGS / "torture.release", "40000",
                env=STRAIGHT)
    assert done.returncode == 0, done.stderr
    assert_law(tmp_path / "t.alys", lost=None)


@pytest.mark.parametrize("name", ["c_busy", "server"])
def test_kill_9(started, tmp_path, name):
    """No probe stays, the code is restored, the target continues, and the trace is readable."""
    before = probe_programs()
    program = started.server() if name == "server" else started.program(name).wait_ready().go()
    trace = tmp_path / "t.alys"
    tracer = started.tracer("-p", program.pid, "-o", trace).recording()
    if name == "server":
        subprocess.run(["wrk", "-t1", "-c4", "-d1", program.url + "/"], stdout=subprocess.DEVNULL, check=True)
    # Two threads fill a trace fast, and whatever has come is read again below.
    wait_until(lambda: has_events(trace))
    assert changed_text(program.pid), "no probe was seen in the target: the test proves nothing"
    tracer.kill()
    assert_clean(program.pid, before)
    if name == "server":
        assert b"<h1>Pages</h1>" in urllib.request.urlopen(program.url + "/", timeout=20).read()
    else:
        assert program.finish() == 0
        assert int(program.line().split()[1]) > 0
    info = alys("info", trace)
    assert info.returncode == 0, info.stderr
    assert sum(len(sites) for sites in tally(events_of(trace, tmp_path)).values()) > 0


class Code:
    """What a process executes of a library: compared many times in a millisecond."""

    def __init__(self, pid, library):
        spans = [line.split()[0].split("-") for line in open(f"/proc/{pid}/maps") if " r-xp " in line and library in line]
        self.start, self.end = (int(n, 16) for n in spans[0])
        self.mem = open(f"/proc/{pid}/mem", "rb", 0)

    def read(self):
        return os.pread(self.mem.fileno(), self.end - self.start, self.start)

    def differs_from(self, known):
        """Waits for it, and does so closely."""
        end = time.monotonic() + TIMEOUT
        while self.read() == known:
            assert time.monotonic() < end, "it stays as it is"


@pytest.mark.parametrize("group", [False, True], ids=["alone", "group"])
@pytest.mark.parametrize("when", ["attach", "detach"])
def test_kill_9_while_probes_come_and_go(started, tmp_path, when, group):
    """
    Of forty probes some are in, and for a process that has been killed the kernel does not write to the target. The library is
    a copy of our own: nobody else probes it.
    """
    before = probe_programs()
    library = shutil.copy("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2", tmp_path)
    program = started.program("c_threads", env={"LD_PRELOAD": str(library)}).wait_ready()
    code = Code(program.pid, str(library))
    clean = code.read()
    for n in range(3):
        tracer = started.tracer("-p", program.pid, "-o", tmp_path / f"{n}.alys", start_new_session=True)
        if when == "attach":
            code.differs_from(clean)
        else:
            full = tracer.recording() and code.read()
            tracer.proc.send_signal(signal.SIGINT)
            code.differs_from(full)
        time.sleep(n * 0.0005)
        if tracer.proc.poll() is None:
            os.killpg(tracer.proc.pid, signal.SIGKILL) if group else tracer.proc.kill()
        tracer.proc.communicate()
        assert not leftovers(before)
        assert code.read() == clean
    assert program.go().finish() == 0


def test_attach_and_detach_over_and_over(started, tmp_path):
    before = probe_programs()
    # Its two threads would keep the tracer waiting for a processor.
    program = started.program("/usr/bin/nice", "-n", "19", PROGS / "c_busy").wait_ready().go()
    seen = 0
    for n in range(100):
        trace = tmp_path / f"{n}.alys"
        tracer = started.tracer("-p", program.pid, "-d", "0.1", "--backtrace", "addr", "-o", trace)
        assert tracer.wait() == 0, tracer.text
        book = ledger(trace)
        assert book.hits == book.recorded + book.skipped + book.lost, book
        # On a crowded machine the program may not have had its turn in a tenth of a second.
        seen += book.hits > 0
        trace.unlink()
    assert seen > 50
    assert_clean(program.pid, before)
    assert program.finish() == 0


def test_forty_probes_go_at_once(started, tmp_path):
    """From the interrupt to the exit, with a small file to write, takes about a tenth of a second on an idle machine."""
    before = probe_programs()
    program = started.program("c_threads", env={"LD_PRELOAD": "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"}).wait_ready()
    took = []
    for n in range(3):
        tracer = started.tracer("-p", program.pid, "-o", tmp_path / f"{n}.alys").recording()
        assert changed_text(program.pid)
        start = time.monotonic()
        tracer.stop()
        took.append(time.monotonic() - start)
        assert ledger(tmp_path / f"{n}.alys").rows["probe-sites"] >= 40
        assert_clean(program.pid, before)
    assert min(took) < 5, took


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_cleanly(started, tmp_path, signum):
    before = probe_programs()
    program = started.program("c_busy").wait_ready().go()
    # The tests may have been started with SIGHUP ignored.
    tracer = started.tracer("-p", program.pid, "-o", tmp_path / "t.alys",
                            preexec_fn=lambda: signal.signal(signum, signal.SIG_DFL)).recording()
    time.sleep(0.3)
    tracer.stop(signum)
    assert_clean(program.pid, before)
    assert_law(tmp_path / "t.alys", lost=None)
    assert program.finish() == 0


def test_nohup_outlives_a_hangup(started, tmp_path):
    """A hangup that the parent ignored does not end a recording; an interrupt does."""
    program = started.program("c_busy").wait_ready().go()
    tracer = started.tracer("-p", program.pid, "-o", tmp_path / "t.alys",
                            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)).recording()
    tracer.proc.send_signal(signal.SIGHUP)
    time.sleep(1)
    assert tracer.proc.poll() is None, tracer.text
    tracer.stop()
    assert program.finish() == 0


def test_second_interrupt_ends_at_once(started, tmp_path):
    before = probe_programs()
    program = started.program("c_busy").wait_ready().go()
    tracer = started.tracer("-p", program.pid, "-o", tmp_path / "t.alys").recording()
    time.sleep(1)
    tracer.proc.send_signal(signal.SIGINT)
    time.sleep(0.05)
    if tracer.proc.poll() is None:
        tracer.proc.send_signal(signal.SIGINT)
    assert tracer.wait(30) in (0, -signal.SIGINT, 130)
    assert_clean(program.pid, before)
    assert alys("info", tmp_path / "t.alys").returncode == 0
    assert program.finish() == 0


def test_target_that_exits(started, tmp_path):
    """The recording ends by itself and is complete, with symbols, although the program has exited."""
    program = started.program("c_libc").wait_ready()
    tracer = started.tracer("-p", program.pid, "-o", tmp_path / "t.alys").recording()
    truth = program.go().truths()[0]
    assert program.finish() == 0
    assert tracer.wait() == 0, tracer.text
    seen = tally(events_of(tmp_path / "t.alys", tmp_path))
    assert_same(truth["sites"], seen[program.pid])


def test_target_that_is_killed(started, tmp_path):
    program = started.program("c_busy").wait_ready().go()
    tracer = started.tracer("-p", program.pid, "-o", tmp_path / "t.alys").recording()
    time.sleep(0.3)
    program.kill()
    assert tracer.wait() == 0, tracer.text
    assert_law(tmp_path / "t.alys", lost=None)


def test_target_that_stands_still(started, tmp_path):
    """A stopped process can be recorded and stays stopped."""
    program = started.program("c_busy").wait_ready()
    os.kill(program.pid, signal.SIGSTOP)
    tracer = started.tracer("-p", program.pid, "-d", "0.5", "-o", tmp_path / "t.alys")
    assert tracer.wait(30) == 0, tracer.text
    assert re.search(r"^State:\s+T", open(f"/proc/{program.pid}/status").read(), re.M)
    os.kill(program.pid, signal.SIGCONT)
    assert program.go().finish() == 0


def test_confined_target_survives(started, tmp_path):
    """A seccomp filter that kills on unknown system calls: on some kernels return probes cause one."""
    program = started.program("c_seccomp").wait_ready()
    tracer = started.tracer("-p", program.pid, "-o", tmp_path / "t.alys").recording()
    truth = program.go().truths()[0]
    tracer.stop()
    assert program.finish() == 0
    assert truth["sites"]["site_confined"]["allocs"] == 2000


@pytest.mark.parametrize("name", ["cpp_exceptions", "c_longjmp"])
def test_frames_that_are_left_without_return(started, tmp_path, name):
    program = started.program(name).wait_ready()
    tracer = started.tracer("-p", program.pid, "-o", tmp_path / "t.alys").recording()
    program.go().truths()
    tracer.stop()
    assert program.finish() == 0
    if name == "cpp_exceptions":
        assert program.said == ["caught 300 refused 300"]
    assert_law(tmp_path / "t.alys", lost=None)


def test_loss_is_counted_to_the_last_call(started, tmp_path):
    """With a ring buffer far too small, losses are named, and hits equal the program's calls."""
    program = started.program("c_fixed").wait_ready()
    tracer = started.tracer("-p", program.pid, "--ring", "4k", "-o", tmp_path / "t.alys").recording()
    sites = program.go().truths()[0]["sites"]
    tracer.stop()
    book = assert_law(tmp_path / "t.alys", lost=None)
    assert book.lost > 0, "nothing was lost: the test proves nothing"
    assert book.rows["hits-alloc"] == sum(s["allocs"] for s in sites.values())
    assert book.rows["hits-free"] == sum(s["frees"] for s in sites.values())
    assert book.recorded == sum(1 for _ in events_of(tmp_path / "t.alys", tmp_path))
    assert "lost" in tracer.text


def test_two_tracers_on_one_target(started, tmp_path):
    program = started.program("c_libc").wait_ready()
    tracers = [started.tracer("-p", program.pid, "-o", tmp_path / f"{n}.alys").recording() for n in "ab"]
    truth = program.go().truths()[0]["sites"]
    for n, tracer in zip("ab", tracers):
        tracer.stop()
        assert_same(truth, tally(events_of(tmp_path / f"{n}.alys", tmp_path))[program.pid])
    assert program.finish(TIMEOUT) == 0
    assert ledger(tmp_path / "a.alys").hits == ledger(tmp_path / "b.alys").hits
