# SPDX-License-Identifier: Apache-2.0
"""`alys-bpf top` in a terminal of 80x24 (tmux), with real programs and a real daemon."""

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time

import pytest

from conftest import ALYS, PROGS, STRAIGHT, alys
from terminal import quit_cleanly, terminal  # noqa: F401 (a fixture)
from web_driver import TIMEOUT, wait_for

pytestmark = pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")


def bytes_of(cell):
    number, unit = re.fullmatch(r"\+?(-?[\d.]+)([KMG]?)", cell).groups()
    return float(number) * {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}[unit]


@pytest.mark.bpf
def test_a_process(terminal, growing):
    target = growing()
    screen = terminal("-p", target.pid, "--sample", "bytes:512")
    screen.shows(rf"process {target.pid} c_grow, by site, largest live first", r"site_grow_fast", r"site_grow_slow", r"site_churn",
                 r"^lost \d+; hits [\d,]+ = recorded [\d,]+ \+ skipped [\d,]+ \+ lost \d+")
    wait_for(lambda: bytes_of((screen.row("site_grow_slow")[0] or ["0"])[0]) > 256 << 10)
    fast, fast_at = screen.row("site_grow_fast")
    slow, slow_at = screen.row("site_grow_slow")
    churn, churn_at = screen.row("site_churn")
    assert 4 == fast_at < slow_at < churn_at
    screen.shows(r"^ +LIVE +ERR +BLOCKS", r"^live [\d.]+[KM] \+-\d+%, ", r"^ +[\d.]+[KM] +\d+% .* site_grow_fast")
    # 2048 bytes each other turn, 1024 each sixteenth: sixteen times as much; turns last a bit over a millisecond.
    assert 10 < bytes_of(fast[0]) / bytes_of(slow[0]) < 25
    assert 10 << 10 < bytes_of(fast[2]) < 4 << 20, fast
    assert bytes_of(fast[3]) > 10 * 60 * 2048 and bytes_of(churn[0]) < 64 << 10
    screen.keys("a")
    screen.shows("largest allocation rate first")
    wait_for(lambda: screen.row("site_churn")[1] == 4)
    quit_cleanly(screen)
    assert target.proc.poll() is None
    assert target.finish() == 0


@pytest.mark.bpf
def test_what_is_sampled_rarely(terminal, growing):
    """A stack that holds nothing between its samples keeps what it allocated."""
    target = growing()
    screen = terminal("-p", target.pid, "--sample", "bytes:8M")
    screen.shows("site_churn")
    everything = lambda: bytes_of(re.search(r"; new ([\d.]+[KMG]?)/s", screen.text).group(1))
    wait_for(lambda: bytes_of((screen.row("site_churn")[0] or ["0"] * 3)[2]) > everything() / 2 > 0)
    quit_cleanly(screen)
    assert target.finish() == 0


@pytest.mark.bpf
def test_nothing_sampled(terminal, growing):
    """No block was sampled, which does not mean that it holds none."""
    target = growing()
    screen = terminal("-p", target.pid, "--sample", "bytes:1024G")
    screen.shows(r"live: none sampled: below 3\S* [GT]iB with 95 % confidence", "nothing was sampled yet")
    quit_cleanly(screen)
    assert target.finish() == 0


@pytest.mark.bpf
def test_keys(terminal, growing):
    target = growing()
    screen = terminal("-p", target.pid, "--sample", "bytes:512")
    screen.shows("site_grow_fast", "site_grow_slow")
    screen.keys("Enter")
    screen.shows(r"stack 1 of \d.*[KM] \+-\d+% in .* blocks of", r"^ +site_grow_fast +.*c_grow\.c:\d+", r"^ +main +.*c_grow\.c:\d+")
    screen.keys("Escape")
    screen.keys("Down")
    screen.keys("/")
    screen.keys("slow")
    screen.shows("filter: slow_")
    assert screen.row("site_grow_fast") == (None, None)
    screen.keys("Enter")
    screen.shows(", /slow")
    screen.keys("Escape")
    screen.shows("site_grow_fast")
    screen.keys("p")
    screen.shows("PAUSED")
    time.sleep(0.5)  # it is drawn to its end
    held = screen.text
    wait_for(lambda: screen.text.splitlines()[2] != held.splitlines()[2])
    assert screen.text.splitlines()[4:] == held.splitlines()[4:]
    screen.keys("p")
    wait_for(lambda: screen.text.splitlines()[4:] != held.splitlines()[4:])
    screen.keys("h")
    screen.shows("by live, allocation rate, growth", r"^lost \d+; hits")
    screen.keys("x")
    screen.tmux("resize-window", "-x", "120", "-y", "10")
    screen.shows("site_grow_fast +c_grow.c:")
    # The chosen row is as wide as the screen.
    wait_for(lambda: max(map(len, screen.tmux("capture-pane", "-p", "-N").splitlines())) == 120)
    screen.tmux("resize-window", "-x", "40", "-y", "8")
    screen.shows("lost 0; hits", "site_grow")
    quit_cleanly(screen)


@pytest.mark.bpf
@pytest.mark.parametrize("term,key", [("vt100", "C-c"), ("linux", "q"), ("xterm-256color", "q")])
def test_plain_terminals_and_interrupts(terminal, growing, term, key):
    target = growing()
    screen = terminal("-p", target.pid, "--sample", "bytes:512", env=f"TERM={term} LC_ALL=C")
    screen.shows("site_grow_fast", "^lost ")
    screen.keys(key)
    screen.shows("^status 0$", "^ echo")
    assert target.finish() == 0


@pytest.mark.bpf
def test_a_process_that_ends(terminal, growing):
    target = growing()
    screen = terminal("-p", target.pid, "--sample", "bytes:512")
    screen.shows("site_grow_fast")
    target.finish()
    screen.shows(r"\[ENDED\]", "the traced processes have ended: q quits", "site_grow_fast")
    screen.keys("Enter")
    screen.shows(r"stack 1 of \d")
    quit_cleanly(screen)


@pytest.mark.bpf
def test_every_process(terminal, growing):
    one, two = growing(), growing()
    screen = terminal("--all", "--sample", "bytes:2k")
    screen.shows("by process", rf" {one.pid} +c_grow", rf" {two.pid} +c_grow")
    screen.keys("/")
    screen.keys("c_grow")
    screen.keys("Enter")
    screen.keys("Home")
    screen.keys("Enter")
    screen.keys("Escape")
    quit_cleanly(screen)


@pytest.fixture
def daemon(tmp_path):
    running = []

    def start(*pids):
        socket = tmp_path / "ctl"
        running.append(subprocess.Popen([ALYS, "daemon", "-p", ",".join(map(str, pids)), "--sample", "bytes:1k", "--max-overhead", "0", "--socket", socket],
                                        stderr=subprocess.PIPE, text=True))
        assert "tracing" in running[-1].stderr.readline()
        running[-1].socket = socket
        return running[-1]

    yield start
    for one in running:
        one.kill()
        one.communicate()


@pytest.mark.bpf
def test_of_a_daemon(terminal, growing, daemon):
    one, two = growing(), growing()
    server = daemon(one.pid, two.pid)
    screen = terminal("--socket", server.socket)
    screen.shows("2 processes, by process", rf" {one.pid} +c_grow", rf" {two.pid} +c_grow")
    screen.keys("Enter")
    screen.shows(rf"process ({one.pid}|{two.pid}) c_grow, by site", "site_grow_fast", "site_churn")
    screen.keys("Escape")
    screen.shows("2 processes")
    screen.keys("Tab")
    screen.shows("by site", "site_grow_fast")
    server.terminate()
    server.wait(TIMEOUT)
    screen.shows(r"^alys-bpf top \[WAITING\]: ", rf"^no daemon answers at {server.socket}", "site_grow_fast")
    # It reconnects by itself when the daemon is back.
    again = daemon(one.pid, two.pid)
    screen.shows("^alys-bpf top: ", "site_grow_fast", "^q quit")
    again.terminate()
    again.wait(TIMEOUT)
    screen.shows(r"\[WAITING\]")
    quit_cleanly(screen, status="3")


@pytest.mark.bpf
def test_one_process_of_a_daemon(terminal, growing, daemon):
    one, two = growing(), growing()
    server = daemon(one.pid, two.pid)
    screen = terminal("--socket", server.socket, "-p", two.pid)
    screen.shows(rf"process {two.pid} c_grow, by site", "site_grow_fast")
    quit_cleanly(screen)
    stranger = terminal("--socket", server.socket, "-p", os.getpid())
    stranger.shows(rf"process {os.getpid()} is not traced", "status 1")


@pytest.mark.bpf
def test_a_daemon_that_is_switched(terminal, growing, daemon):
    target = growing()
    server = daemon(target.pid)
    screen = terminal("--socket", server.socket, "-p", target.pid)
    screen.shows("site_grow_fast", "^q quit")
    assert alys("ctl", "--socket", server.socket, "off").returncode == 0
    screen.shows(r"^alys-bpf top \[OFF\]: process", "^tracing is off, and this stands still", "site_grow_fast")
    assert alys("ctl", "--socket", server.socket, "on").returncode == 0
    screen.shows("^alys-bpf top: process", "site_grow_fast", "^q quit")
    quit_cleanly(screen)


@pytest.mark.bpf
def test_a_daemon_that_does_not_answer(terminal, growing, daemon):
    """If the daemon does not answer, the screen says that it is old, and `q` still works at once."""
    target = growing()
    server = daemon(target.pid)
    status = alys("ctl", "--socket", server.socket, "status").stdout
    collector = int(re.search(r"^daemon .*records in (\d+)", status, re.M).group(1))
    screen = terminal("--socket", server.socket)
    screen.shows("1 process, by process")
    os.kill(collector, signal.SIGSTOP)
    try:
        screen.shows(r"^alys-bpf top \[\d+ s OLD\]: 1 process")
        os.kill(collector, signal.SIGCONT)
        screen.shows("^alys-bpf top: 1 process")
        os.kill(collector, signal.SIGSTOP)
        screen.shows(r"\[\d+ s OLD\]")
        quit_cleanly(screen)
    finally:
        os.kill(collector, signal.SIGCONT)


@pytest.mark.bpf
def test_a_terminal_that_goes(growing):
    """A terminal that is not the session's own sends no signal when it goes; top must end all the same."""
    target = growing()
    ours, theirs = pty.openpty()
    top = subprocess.Popen([ALYS, "top", "-p", str(target.pid), "--sample", "bytes:512", "--max-overhead", "0"], stdin=theirs, stdout=theirs, stderr=theirs,
                           start_new_session=True, env={**os.environ, "TERM": "xterm"})
    os.close(theirs)
    try:
        shown = b""
        while b"site_grow_fast" not in shown:
            assert select.select([ours], [], [], TIMEOUT)[0], shown
            shown += os.read(ours, 65536)
        os.close(ours)
        top.wait(TIMEOUT)
    finally:
        top.kill()
        top.wait()
    assert target.proc.poll() is None


@pytest.mark.bpf
def test_a_name_that_moves_the_cursor(terminal, tmp_path):
    hostile = tmp_path / "a\x1b[2J\nb"
    shutil.copy(PROGS / "c_grow", hostile)
    target = subprocess.Popen([hostile], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=STRAIGHT)
    try:
        screen = terminal("-p", target.pid, "--sample", "bytes:512")
        screen.shows(rf"process {target.pid} a\\x1b\[2J\\x0ab, by site", "site_grow_fast", "^q quit")
        quit_cleanly(screen)
    finally:
        target.kill()
        target.communicate()


def test_where_there_is_no_screen(terminal):
    done = subprocess.run([ALYS, "top", "-p", "1"], capture_output=True, text=True, timeout=TIMEOUT, stdin=subprocess.DEVNULL)
    assert done.returncode == 1 and "top wants a terminal" in done.stderr
    screen = terminal("--socket", "/nonexistent/ctl")
    screen.shows("no daemon answers at /nonexistent/ctl", "status 3")


@pytest.mark.bpf
def test_terminals_and_processes_that_are_none(terminal, growing):
    target = growing()
    for name in ("nonsense", "dumb"):
        terminal("-p", target.pid, env=f"TERM={name}").shows(f'terminal type "{name}" is unknown or cannot position the cursor', "status 1")
    terminal("-p", 999999999).shows("no process 999999999", "status 3")
    terminal("-p", target.pid, "--all").shows("records every process itself", "status 2")
