# SPDX-License-Identifier: Apache-2.0
"""Ends of daemons, and how daemons report ends of processes and reuse of pids."""

import os
import re
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest

from conftest import TIMEOUT, Daemon, pprof
from ends import start
from served import served  # noqa: F401 (a fixture)
from web_driver import get

pytestmark = pytest.mark.bpf
PYTHON = os.path.realpath("/usr/bin/python3")
LAST_PID = Path("/proc/sys/kernel/ns_last_pid")


# --- of the daemon ---------------------------------------------------------------------------------

def test_stop_returns_when_the_daemon_is_gone(started, tmp_path):
    program = started.program("c_busy").wait_ready().go()
    for _ in range(5):
        d = Daemon(tmp_path, "-p", program.pid, "--sample", "bytes:4k", "--listen", "0", "--profile-dir", tmp_path / "p").wait_ready()
        try:
            assert b"has ended" in d.ctl("stop")
            assert not d.socket.exists() and d.proc.wait(TIMEOUT) == 0
        finally:
            d.kill()


def test_stop_does_not_wait_for_ever(daemon):
    d = daemon("--off")
    assert d.run("--timeout", "0.2", "stop").returncode in (0, 1)
    d.proc.wait(TIMEOUT)
    d = daemon("--off")
    os.kill(d.proc.pid, signal.SIGSTOP)
    try:
        done = d.run("--timeout", "1", "stop")
        assert done.returncode == 1 and re.search(b"(still runs|did not answer).* 1 s", done.stderr), done
    finally:
        os.kill(d.proc.pid, signal.SIGCONT)
    assert d.proc.wait(TIMEOUT) == 0


def test_the_number_that_it_tells_is_the_one_to_signal(daemon):
    d = daemon("--off")
    pid = int(re.search(r"daemon (\d+): off", d.log()).group(1))
    assert pid == int(re.search(r"process (\d+)", d.status()["daemon"]).group(1)) == d.proc.pid != d.collector()
    os.kill(pid, signal.SIGTERM)
    assert d.proc.wait(TIMEOUT) == 0 and not d.socket.exists()


# --- of processes ----------------------------------------------------------------------------------

def ways(d):
    """{way: number} of ended processes."""
    told = re.search(r"so far \d+ ended \((.*?)\)", d.status()["processes"])
    return {way: int(n) for n, way in re.findall(r"(\d+) (\S+?)(?:,|$)", told.group(1))} if told else {}


def test_ways_to_end_are_told_apart(started, daemon):
    targets = {how: start(started, how) for how in ("exit", "crash", "abort", "killed")}
    d = daemon(*(word for t in targets.values() for word in ("-p", t.pid)))
    assert ways(d) == {}
    for target in targets.values():
        target.proc.stdin.write(b"go\n")
        target.finish()
    d.until(lambda: ways(d) == dict.fromkeys(targets, 1))
    # Nothing that exists now belongs to them.
    d.until(lambda: d.status()["probes"].startswith("0 files, 0 places, 0 links;"))
    assert "examined so far" in d.status()["probes"] and d.traced() == 0
    d.end()


def too_short(d):
    return int(re.search(r"(\d+) processes too short-lived", d.status()["profiles"]).group(1))


BRIEF = """
import os, select
print("ready", flush=True)
while not select.select([0], [], [], 0.01)[0]:
    kept = [bytearray(3000) for _ in range(100)]
%s
"""


def test_who_lived_too_short_for_a_profile_is_counted(started, daemon, tmp_path):
    """Each process with samples leaves a last profile or is counted. Crashed ones leave one, however short-lived."""
    program, folder = tmp_path / "brief", tmp_path / "p"
    shutil.copy(PYTHON, program)
    d = daemon("--exe", program, "--sample", "bytes:1k", "--profile-dir", folder, "--every", "1h")

    def one(last_words="exit()"):
        brief = started.program(program, "-S", "-c", BRIEF % last_words).wait_ready()
        d.until(lambda: brief.pid in d.status()["table"])
        brief.proc.stdin.write(b"go\n")
        brief.finish()
        d.until(lambda: d.traced() == 0)

    lived = 0
    while not (counted := too_short(d)):  # a crowded machine lets none end within a second
        one()
        lived += 1
    d.until(lambda: counted + len(list(folder.glob("brief-*-exit.pb.gz"))) == lived)
    one("os.abort()")
    d.until(lambda: list(folder.glob("brief-*-abort.pb.gz")))
    assert too_short(d) == counted
    d.end()


BECOMES = """
import os, sys
kept = [bytearray(3000) for _ in range(1000)]
print("ready", flush=True)
sys.stdin.readline()
os.execv(sys.argv[1], [sys.argv[1], "-S", "-c", "kept = [bytearray(3000) for _ in range(1000)]; print('other', flush=True); input()"])
"""


def test_who_becomes_another_program_is_left(started, daemon, tmp_path):
    """After exec the process has not ended, but by its new name it is not a target any more."""
    for name in ("wanted", "unwanted"):
        shutil.copy(PYTHON, tmp_path / name)
    target = started.program(tmp_path / "wanted", "-S", "-c", BECOMES, tmp_path / "unwanted").wait_ready()
    d = daemon("--name", "wanted", "--sample", "bytes:1k", "--profile-dir", tmp_path / "p", "--every", "1h")
    time.sleep(1)  # who lives shorter leaves no profile
    target.proc.stdin.write(b"go\n")
    target.proc.stdin.flush()
    assert target.line() == "other"
    d.until(lambda: ", 1 left," in d.status()["processes"] and d.traced() == 0)
    assert ways(d) == {}
    d.end()
    ends = {path.name.split("-")[0]: path.name.rsplit("-", 1)[1] for path in (tmp_path / "p").glob("*.pb.gz")}
    assert ends.get("unwanted", "left.pb.gz") == "left.pb.gz" and "exit.pb.gz" not in ends.values(), ends


@pytest.fixture
def successor(started):
    """A program with the reused pid of one that has exited."""
    def begin(pid):
        for _ in range(100):  # others may take it first
            LAST_PID.write_text(str(pid - 1))
            program = started.program("c_busy")
            if program.pid == pid:
                return program.wait_ready().go()
            program.kill()
        pytest.fail(f"no process gets the number {pid}")

    if not LAST_PID.exists():
        pytest.skip("this kernel lets nobody choose a process' number")
    return begin


def test_a_number_is_no_process(started, daemon, successor):
    """A pid that was named may be reused by another process, while tracing is off or on: that one is not traced."""
    first = started.program("c_busy").wait_ready().go()
    d = daemon("-p", first.pid, "--sample", "bytes:4k")
    d.until(lambda: first.pid in d.status()["table"])
    began = lambda: re.search(rf"^ +{first.pid} .* (\S+Z)  ", d.ctl("status").decode(), re.M).group(1)
    was = began()
    d.ctl("off")
    first.kill()
    time.sleep(1.1)  # the next second
    second = successor(first.pid)
    assert d.run("on").returncode == 3
    assert d.traced() == 0 and f"process {first.pid} has been replaced by another process" in d.run("on").stderr.decode()
    other = started.program("c_busy").wait_ready().go()
    d.end()
    d = daemon("-p", f"{second.pid},{other.pid}", "--sample", "bytes:4k")
    d.until(lambda: second.pid in d.status()["table"])
    assert began() > was
    second.kill()
    successor(second.pid)
    d.until(lambda: set(d.status()["table"]) == {other.pid})
    d.ctl("add", second.pid)
    d.until(lambda: set(d.status()["table"]) == {other.pid, second.pid})
    d.end()


# --- windows over HTTP -----------------------------------------------------------------------------

@pytest.mark.parametrize("how", ["exit", "crash"])
def test_a_window_ends_with_its_process(started, served, tmp_path, how):
    target = start(started, how)
    server = served("-p", target.pid)
    answers = []
    asking = threading.Thread(target=lambda: answers.append(get(f"{server.url}/debug/pprof/allocs?pid={target.pid}&seconds=300",
                                                                timeout=TIMEOUT)))
    asking.start()
    time.sleep(0.5)
    target.proc.stdin.write(b"go\n")
    target.finish()
    asking.join(TIMEOUT)
    assert answers and answers[0].status == 200
    (tmp_path / "window").write_bytes(answers[0].body)
    assert f"last profile of the process: {how}" in pprof("-comments", tmp_path / "window")
    assert f"of process {target.pid} (python3), which began at " in pprof("-comments", tmp_path / "window")
    assert get(f"{server.url}/debug/pprof/allocs?pid={target.pid}&seconds=1").status == 404
