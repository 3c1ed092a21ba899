"""What a daemon says that it takes, against what the kernel says of each page and each map: and it is within the limit."""

import gzip
import os
import re
import shutil
import subprocess
import threading
import time
from pathlib import Path

import pytest

from conftest import PROGS, TIMEOUT, alys, fdinfo
from test_daemon import daemon, family, group, law, started_in  # noqa: F401 (fixtures)

pytestmark = pytest.mark.bpf
MIB = 1 << 20
NEAR = 0.05


def shares(pid):
    """Bytes that a process has for itself, its maps of BPF programs left out."""
    kib, of_bpf = 0, False
    try:
        text = Path(f"/proc/{pid}/smaps").read_text()
    except OSError:  # it has ended
        return 0
    for line in text.splitlines():
        if re.match("[0-9a-f]+-", line):
            of_bpf = "anon_inode:bpf-map" in line
        elif line.startswith("Pss:") and not of_bpf:
            kib += int(line.split()[1])
    return kib * 1024


def maps(pids):
    """Bytes of the BPF maps that these processes have, each once."""
    found = {}
    for pid in pids:
        for text in fdinfo(pid):
            told = dict(re.findall(r"^(map_id|memlock):\s+(\d+)", text, re.M))
            if "map_id" in told:
                found[told["map_id"]] = int(told["memlock"])
    return sum(found.values())


def account(d):
    pids = family(d.proc.pid)
    return sum(shares(pid) for pid in pids) + maps(pids)


def told(d):
    """What status says is taken, and what may be."""
    units = {"KiB": 1024, "MiB": MIB, "GiB": 1 << 30}
    found = re.match(r"([\d.]+) (\wiB) of ([\d.]+) (\wiB) ", d.status()["memory"])
    return float(found[1]) * units[found[2]], float(found[3]) * units[found[4]]


def agrees(d):
    """It looks once a second: of one moment at least it must be right."""
    before = account(d)
    said, limit = told(d)
    after = account(d)
    low, high = min(before, after), max(before, after)
    return low * (1 - NEAR) <= said <= high * (1 + NEAR) and said <= limit


class Peak(threading.Thread):
    """The most that a daemon takes while this is on."""

    def __init__(self, d):
        super().__init__(daemon=True)
        self.d, self.most, self.over = d, 0, threading.Event()

    def __enter__(self):
        self.start()
        return self

    def run(self):
        while not self.over.wait(0.02):
            self.most = max(self.most, account(self.d))

    def __exit__(self, *_):
        self.over.set()
        self.join()


@pytest.mark.parametrize("limit", ["64M", "128M", "256M", "1G"])
def test_an_idle_daemon(daemon, limit):
    d = daemon("--off", "--max-memory", limit)
    d.until(lambda: agrees(d))
    assert told(d)[1] == {"64M": 64, "128M": 128, "256M": 256, "1G": 1024}[limit] * MIB
    if limit == "64M":
        assert account(d) < 40 * MIB, "maps have their share of the limit"
    d.end()


@pytest.mark.parametrize("limit", [64, 256])
def test_under_load(started, daemon, limit):
    program = started.program("c_paths", 5 * TIMEOUT).wait_ready()
    d = daemon("-p", program.pid, "--sample", "bytes:256", "--max-memory", f"{limit}M")
    with Peak(d) as peak:
        program.go()
        d.until(lambda: int(re.search(r" recorded (\d+) ", d.status()["account"]).group(1)) > 20000)
        for _ in range(3):
            assert d.ctl("snapshot", program.pid)
            d.until(lambda: agrees(d))
    assert peak.most <= limit * MIB, peak.most / MIB
    d.ctl("off")
    d.until(lambda: agrees(d))
    d.end()


MANY = """
import ctypes, select, sys
libraries = [ctypes.CDLL(path) for path in sys.argv[1:]]
for one in libraries:
    one.site_plugin.restype = ctypes.c_void_p
    one.site_plugin.argtypes = [ctypes.c_size_t]
print("ready", flush=True)
while not select.select([0], [], [], 0.05)[0]:
    kept = [one.site_plugin(3000) for one in libraries]
"""


def with_libraries(started, folder, n):
    """A program that has mapped so many files."""
    script, paths = folder / "many.py", [folder / f"lib{i}.so" for i in range(n)]
    for path in paths:
        shutil.copy(PROGS / "lib_plugin.so", path)
    script.write_text(MANY)
    return started.program("/usr/bin/python3", script, *paths).wait_ready()


@pytest.mark.parametrize("limit", [64, 256])
def test_many_small_libraries(started, daemon, tmp_path, limit):
    """What is known of each file is within the limit, too."""
    program = with_libraries(started, tmp_path, 800)
    d = daemon("-p", program.pid, "--sample", "bytes:64k", "--max-memory", f"{limit}M")
    with Peak(d) as peak:
        d.until(lambda: program.pid in d.status()["table"])
        d.until(lambda: int(re.search(r"(\d+) files examined", d.status()["probes"]).group(1)) > (800 if limit > 64 else 400))
        d.until(lambda: agrees(d))
    assert peak.most <= limit * MIB, peak.most / MIB
    d.end()


def test_more_libraries_than_there_is_room_for(started, daemon, tmp_path):
    """An allocator does not wait for them; those that come when memory is short stay closed, which is told."""
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    first, second = (with_libraries(started, folder, 2000) for folder in folders)
    d = daemon("-p", first.pid, "--sample", "bytes:64k", "--max-memory", "56M")
    with Peak(d) as peak:
        d.until(lambda: re.match(r"1 files.* wait for that", d.status()["probes"]))
        d.until(lambda: "wait for that" not in d.status()["probes"])
        d.ctl("add", second.pid)
        d.until(lambda: "files could not be opened" in d.status()["probes"])
        d.until(lambda: "there is no room in memory" in d.log())
        d.until(lambda: {first.pid, second.pid} <= set(d.status()["table"]))
        d.until(lambda: agrees(d))
    assert peak.most <= 56 * MIB, peak.most / MIB
    d.end()


def test_the_least_that_is_enough(daemon, tmp_path):
    """Less is refused, also by one that begins switched off, with a number that is enough."""
    for place, words in (("s", ["-p", os.getpid()]), ("t", ["--off"])):
        done = alys("daemon", "--socket", tmp_path / place, *words, "--max-memory", "32M")
        said = re.search(r"--max-memory of 32 MiB leaves no room: (\d+) MiB are taken.*give it (\d+) MiB", done.stderr)
        assert done.returncode == 1 and done.stderr.count("\n") == 1 and said, done.stderr
    enough = int(said.group(2))
    assert 32 < enough < 64
    program = subprocess.Popen(["sleep", "1000"])
    try:
        d = daemon("-p", program.pid, "--max-memory", f"{enough}M")
        d.until(lambda: agrees(d))
        assert d.traced() == 1 and "nearly" not in d.status()["bounds"]
        d.end()
    finally:
        program.kill()
        program.wait()


def test_the_note_goes_with_the_pressure(started, daemon):
    """What was used up is free again: that it is used up is said no more."""
    program = started.program("c_paths", 5 * TIMEOUT).wait_ready()
    other = started.program("c_busy").wait_ready()
    d = daemon("-p", f"{program.pid},{other.pid}", "--sample", "bytes:16", "--max-memory", "64M")
    program.go()
    d.until(lambda: "--max-memory is nearly used up" in d.status()["bounds"])
    program.kill()
    d.until(lambda: told(d)[0] < 0.8 * 64 * MIB and "nearly used up" not in d.status()["bounds"])
    assert "instead of 16, which comes back" in d.status()["tracing"]
    d.end()


def used_up(d):
    """Some was refused, and some was let go."""
    refused, thinned = (int(n) for n in re.search(r"refused (\d+), .*thinned (\d+) times", d.status()["bounds"]).groups())
    return refused > 1000 and thinned


def test_memory_is_bounded(started, daemon, group):
    """
    More stacks, blocks and processes than fit, and profiles asked for all the while: fewer samples, then fewer blocks,
    then no new stacks, all of it told, and at no moment more than the limit.
    """
    limit = 256
    hogs = [started_in(group, started, "c_paths", 5 * TIMEOUT).wait_ready() for _ in range(2)]
    nursery = started_in(group, started, "c_soak", "nursery", 2000).wait_ready()
    d = daemon("--cgroup", group, "--sample", "bytes:16", "--max-memory", f"{limit}M", "--ring", "4M")
    for program in (*hogs, nursery):
        program.go()
    # A crowded machine takes minutes for so many stacks and profiles.
    end, full = time.monotonic() + 5 * TIMEOUT, 0
    with Peak(d) as peak:
        while time.monotonic() < end and not 0 < full < time.monotonic():
            assert gzip.decompress(d.ctl("snapshot", hogs[0].pid)) and d.ctl("snapshot", hogs[1].pid, "html")
            full = full or (time.monotonic() + 5 if used_up(d) else 0)
        status = d.status()
        assert full and "instead of 16" in status["tracing"], status
        for program in hogs:
            program.go()
        made = [int(program.line()) for program in hogs]
        for program, blocks in zip(hogs, made):
            live = d.top(program.pid, "inuse_objects")[None]
            # What was made at the last and lowest of the rates rests on few samples; tests of the model are stricter.
            assert 0.3 * blocks < live < 3 * blocks, (blocks, live, d.status())
    assert peak.most <= limit * MIB, (peak.most / MIB, d.status())
    assert " failed 0 " in nursery.line()
    d.ctl("off")
    law(d)
    d.end()
    assert [program.finish() for program in hogs] == [0, 0]
