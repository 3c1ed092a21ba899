# SPDX-License-Identifier: Apache-2.0
"""Malformed files mapped by targets must not impair tracing of other processes."""
import os
import pty
import re
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest

import hostile_elf
from conftest import ALYS, TIMEOUT, children_of, ledger
from memory import one_memory

pytestmark = [pytest.mark.bpf, pytest.mark.beside]

MOST_MEMORY = 700 << 20  # of all that belongs to a recording; one such file took 3.2 GB
PATIENCE = 15            # for an answer that a stalled daemon owed for longer than this

# Maps what it is told on stdin, as the loader does, and keeps it.
MAPPER = """
import mmap, os, sys
kept = []
print("ready", flush=True)
for path in sys.stdin:
    fd = os.open(path.strip(), os.O_RDONLY)
    kept.append(mmap.mmap(fd, 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC))
    print("mapped", flush=True)
"""


class Mapper:
    def __init__(self):
        self.proc = subprocess.Popen([sys.executable, "-c", MAPPER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.proc.pid
        assert self.proc.stdout.readline() == "ready\n"

    def map(self, paths):
        for path in paths:
            self.proc.stdin.write(f"{path}\n")
            self.proc.stdin.flush()
            assert self.proc.stdout.readline() == "mapped\n"
        return self

    def kill(self):
        self.proc.kill()
        self.proc.communicate()


@pytest.fixture
def hostile(started, tmp_path):
    """A process that maps one file of each kind, and a function that makes it map more."""
    mapper = started.other(Mapper())
    mapper.files = [hostile_elf.make(tmp_path / "hostile", v) for v in hostile_elf.VARIANTS]
    return mapper


def status_of(pid, *keys):
    found = dict(re.findall(r"^(\w+):\s*(.*)$", Path(f"/proc/{pid}/status").read_text(), re.M))
    return [found[k] for k in keys]


def family(pid):
    """The process and its descendants."""
    found = [pid]
    for task in children_of(f"/proc/{pid}/task"):
        try:
            found += [p for child in (task / "children").read_text().split() for p in family(int(child))]
        except OSError:
            continue
    return found


def bytes_read(pid):
    return int(re.search(r"rchar: (\d+)", Path(f"/proc/{pid}/io").read_text()).group(1))


class Watch:
    """Monitors the memory of a tracer and its workers."""

    def __init__(self, pid, much=0):
        self.pid, self.much = pid, much
        self.most = 0
        self.readers = {}
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.look)
        self.thread.start()

    def look(self):
        while not self.over.wait(0.01):
            total, pids = 0, family(self.pid)
            for i, pid in enumerate(pids):
                if any(one_memory(pid, other) for other in pids[:i]):
                    continue
                try:
                    total += int(status_of(pid, "VmRSS")[0].split()[0]) << 10
                    if self.much and bytes_read(pid) > self.much:
                        self.readers[pid] = status_of(pid, "Uid", "CapEff", "CapPrm", "NoNewPrivs", "Seccomp")
                except (OSError, KeyError, AttributeError):
                    continue
            self.most = max(self.most, total)

    def end(self):
        self.over.set()
        self.thread.join()
        return self


def test_a_recording_is_not_burdened(started, hostile, tmp_path):
    innocent = started.program("c_busy").wait_ready()
    hostile.map(hostile.files)
    tracer = started.tracer("-p", hostile.pid, "-p", innocent.pid, "-o", tmp_path / "t.alys")
    watch = Watch(tracer.proc.pid)
    try:
        tracer.recording()
        innocent.go()
        deadline = time.monotonic() + TIMEOUT
        while watch.most == 0 and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.5)
        tracer.stop()
    finally:
        watch.end()
    assert watch.most < MOST_MEMORY
    book = ledger(tmp_path / "t.alys")
    assert book.recorded > 0 and book.lost == 0
    assert book.rows["files-given-up"] >= 1


class Health:
    """Polls the daemon's health continuously."""

    def __init__(self, url):
        self.url = url + "/-/healthy"
        self.answers = []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.ask)
        self.thread.start()

    def ask(self):
        while not self.over.wait(0.05):
            try:
                with urllib.request.urlopen(self.url, timeout=PATIENCE) as answer:
                    self.answers.append(answer.status)
            except OSError as e:
                self.answers.append(str(e))

    def end(self):
        self.over.set()
        self.thread.join()
        return self


def test_files_that_come_later_stop_nobody(started, hostile, daemon):
    innocent = started.program("c_busy").wait_ready()
    d = daemon("-p", innocent.pid, "-p", hostile.pid, "--sample", "bytes:64k", "--listen", "0")
    watch = Watch(d.proc.pid)
    health = Health(re.search(r"http://[\d.:]+", d.log()).group())
    try:
        innocent.go()
        before = examined(d)
        hostile.map(hostile.files)
        while examined(d) < before + len(hostile.files):
            time.sleep(0.05)
        d.until(lambda: given_up(d) >= 1)
    finally:
        health.end()
        watch.end()
    assert health.answers and set(health.answers) == {200}
    assert watch.most < MOST_MEMORY
    assert "+ lost 0" in status(d)
    d.end()


def status(d):
    """`ctl status`, in less time than a daemon needed that read such files itself."""
    return d.run("status", timeout=PATIENCE).stdout.decode()


def examined(d):
    return int(re.search(r"(\d+) files examined", status(d)).group(1))


def given_up(d):
    return int((re.search(r"(\d+) given up", status(d)) or [0, 0])[1])


@pytest.mark.parametrize("verb", ["record", "report", "doctor", "daemon", "top"])
def test_who_reads_has_no_rights(started, tmp_path, verb):
    dense = hostile_elf.make_dense(tmp_path / "dense")
    mapper = started.other(Mapper()).map([dense])
    words = {
        "record": ["record", "-d", "1", "-p", mapper.pid, "-o", tmp_path / "t.alys"],
        "report": ["report", "-p", mapper.pid, "-d", "1"],
        "doctor": ["doctor", "--probes", mapper.pid],
        "daemon": ["daemon", "-p", mapper.pid, "--socket", tmp_path / "s"],
        "top": ["top", "-p", mapper.pid],
    }[verb]
    screen, theirs = pty.openpty() if verb == "top" else (None, subprocess.DEVNULL)
    proc = subprocess.Popen([str(ALYS), *map(str, words)], stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, "TERM": "xterm"})
    watch = Watch(proc.pid, dense.stat().st_size * 3 // 4)
    try:
        deadline = time.monotonic() + TIMEOUT
        while not watch.readers and proc.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:
        watch.end()
        proc.terminate()
        said = proc.communicate(timeout=TIMEOUT)[1]
        for end in (screen, theirs) if screen else ():
            os.close(end)
    assert watch.readers, said
    for uid, effective, permitted, no_new, seccomp in watch.readers.values():
        assert "0" not in uid.split()
        assert int(effective, 16) == int(permitted, 16) == 0
        assert (no_new, seccomp) == ("1", "2")
