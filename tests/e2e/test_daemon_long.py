# SPDX-License-Identifier: Apache-2.0
"""Resources that a daemon must not exhaust or lose in weeks, tested in minutes."""
import os
import shutil
import signal
import subprocess
import time

import pytest

from conftest import PROGS
from served import metrics, served  # noqa: F401 (a fixture)

pytestmark = [pytest.mark.bpf, pytest.mark.beside]

LONG = 120


class Copies:
    """Running programs, each a new file."""

    def __init__(self, folder, names):
        self.paths = [folder / name for name in names]
        for path in self.paths:
            shutil.copy(PROGS / "c_own", path)
        self.procs = [subprocess.Popen([path], stdin=subprocess.DEVNULL) for path in self.paths]
        self.pids = {p.pid for p in self.procs}

    def end(self):
        for p in self.procs:
            p.kill()
            p.wait()
        for path in self.paths:
            path.unlink()


@pytest.mark.heavy
def test_more_files_than_places(daemon, tmp_path):
    """Each of these files has an allocator; together they need more entries than the kernel's tables have."""
    folder = tmp_path / "own"
    folder.mkdir()
    d = daemon("--exe", f"{folder}/*", "--sample", "bytes:4k", "--follow")
    for first in range(0, 1150, 50):
        copies = Copies(folder, (str(first + i) for i in range(50)))
        try:
            d.until(lambda: copies.pids <= set(d.status()["table"]), LONG)
        finally:
            copies.end()
        d.until(lambda: d.traced() == 0, LONG)
        d.log()  # or else the pipe fills up
    assert "more than" not in d.log()


def test_a_program_written_anew_in_its_place(daemon, tmp_path, started):
    """As cp does: the same inode, other instructions. Probes for the old ones must not go into the new ones."""
    path = tmp_path / "prog"
    d = daemon("--exe", path, "--sample", "bytes:4k", "--follow")
    shutil.copy(PROGS / "c_own", path)
    first = started.program(path)
    d.until(lambda: first.pid in d.status()["table"], LONG)
    number = path.stat().st_ino
    first.kill()
    d.until(lambda: d.status()["probes"].startswith("0 files"), LONG)
    shutil.copy(PROGS / "c_static", path)
    assert path.stat().st_ino == number
    second = started.program(path).wait_ready()
    d.until(lambda: d.status()["probes"].startswith("1 files"), LONG)
    second.go().truths()
    d.until(lambda: second.pid in d.status()["table"], LONG)
    assert second.finish() == 0


def order(program, what):
    program.proc.stdin.write(what)
    program.proc.stdin.flush()
    for _ in what:
        assert program.line() == "done"


def recorded(server, pid):
    return sum(n for name, n in metrics(server).items() if name.startswith(f'alys_target_recorded_total{{pid="{pid}"'))


def crowd(started, server):
    """So many processes that their end makes the daemon forget stacks."""
    others = [started.program("c_rare").wait_ready() for _ in range(70)]
    server.until(lambda: server.traced() == 71, LONG)
    return others


def leave(others):
    for other in others:
        other.kill()


def test_no_stack_is_forgotten_under_its_events(started, served):
    """Events of an old stack wait in the ring while stacks of exited processes are dropped: theirs must be kept."""
    one = started.program("c_rare").wait_ready()
    server = served("--exe", PROGS / "c_rare", "--sample", "bytes:1", "--idle-stacks", "1s", "--max-memory", "1G")
    note = lambda name: metrics(server).get(f'alys_note{{name="{name}"}}', 0)
    for again in range(2):
        if again:  # the stack is dropped, so that it is a new one the next time
            leave(crowd(started, server))
            server.until(lambda: server.traced() == 1, LONG)
        others = crowd(started, server)
        order(one, b"r")
        time.sleep(6)  # the longer the better: by then its row has gone
        was = recorded(server, one.pid)
        collector = server.collector()
        os.kill(collector, signal.SIGSTOP)
        try:
            leave(others)
            order(one, b"br")
        finally:
            os.kill(collector, signal.SIGCONT)
        server.until(lambda: server.traced() == 1 and recorded(server, one.pid) >= was + 50000, LONG)
        while was != (was := recorded(server, one.pid)):  # until the ring is empty
            time.sleep(2)
        assert note("events-without-stack") <= note("stacks-lost")  # what is lost is sent again with the next event
    assert one.finish() == 0
