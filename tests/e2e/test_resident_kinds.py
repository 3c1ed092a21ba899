# SPDX-License-Identifier: Apache-2.0
"""
`report --heap` of each kind of memory: shared, tmpfs, private copies, huge pages, given back, stacks of threads, copy on write; of
programs that run out of memory or are stopped; of Debian's programs as they are. Against what the program says and smaps.
"""
import json
import os
import re
import signal
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import pytest

from conftest import TIMEOUT, alys, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="not root: may not read other processes")

PRELOAD = {"glibc": {}, "jemalloc": {"LD_PRELOAD": "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"}}
HUGE = Path("/sys/kernel/mm/transparent_hugepage/enabled")
PARTS = {"malloc": ("used", "mmapped", "tcache", "fastbin", "bins", "top", "anonymous", "stacks", "written", "files", "shared"),
         "mappings": ("anonymous", "stacks", "written", "files", "shared")}


def smaps(pid):
    text = Path(f"/proc/{pid}/smaps").read_text()
    return {k: 1024 * sum(map(int, re.findall(rf"^{k}: +(\d+)", text, re.M))) for k in ("Rss", "Shared_Dirty", "AnonHugePages")}


def look(pid, *args):
    """The report, whose parts add up to its RSS, and that is the kernel's but for files that it may drop at any time."""
    done = alys("census", "--heap", "-p", pid, "-f", "json", *args)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["rss_resident"] == sum(answer[f"{k}_resident"] for k in PARTS[answer["report"]]), answer
    assert abs(answer["rss_resident"] - smaps(pid)["Rss"]) <= answer["files_resident"], answer
    return answer


@pytest.fixture(params=PRELOAD)
def kinds(request, started, tmp_path):
    path = Path("/dev/shm") / f"{tmp_path.name}-{os.getpid()}"
    program = started.program("c_kinds", path, env=PRELOAD[request.param]).wait_ready()

    def step(letter):
        program.proc.stdin.write(letter.encode())
        program.proc.stdin.flush()
        return int(program.line())

    program.step = step
    yield program
    path.unlink(missing_ok=True)


def grown(program, letter, key):
    """What a step adds to a line of the report, and what the program says."""
    before = look(program.pid)
    said = program.step(letter)
    after = look(program.pid)
    return after[f"{key}_resident"] - before[f"{key}_resident"], said, after


def test_shared_memory_and_tmpfs(kinds):
    for letter in "sf":
        added, said, _ = grown(kinds, letter, "shared")
        assert added == said
    added, said, _ = grown(kinds, "p", "written")  # private copies of a file's pages
    # So is code with a probe in it, which recordings of other tests put in and take out.
    assert abs(added - said) <= 64 * 4096 < said


def test_anonymous_memory_and_what_was_given_back(kinds):
    added, said, before = grown(kinds, "a", "anonymous")
    assert added == said
    given, said, after = grown(kinds, "d", "anonymous")
    assert given == -said
    if after["report"] == "mappings":
        area = [row for row in after["rows"] if row["mapped"] >= 64 << 20]
        assert len(area) == 1 and area[0]["mapped"] - area[0]["resident"] >= 60 << 20  # mapped, and not resident any more
        assert before["mapped"] == after["mapped"]


def test_huge_pages(kinds):
    if "[never]" in HUGE.read_text():
        pytest.skip("the kernel makes no huge pages")
    added, said, after = grown(kinds, "h", "anonymous")
    assert added == said
    assert after.get("huge", after.get("huge_resident")) == smaps(kinds.pid)["AnonHugePages"] in (0, 2 << 20)


def test_blocks_in_mappings_of_their_own(kinds):
    glibc = look(kinds.pid)["report"] == "malloc"
    added, said, after = grown(kinds, "m", "mmapped" if glibc else "anonymous")
    assert added == said if glibc else 0 <= added - said <= 16 << 20
    assert not glibc or (after["mmapped"], after["mmapped_bytes"]) == (1, said)


def test_stacks_of_threads(kinds):
    added, said, after = grown(kinds, "t", "stacks")
    assert 0 <= added - said <= 4 * 12 * 4096, after  # its own frames, and what lies above them
    assert look(kinds.pid, "--freeze")["stacks_resident"] == after["stacks_resident"]


def test_copy_on_write(kinds):
    """Of a child all that it can read is resident, written or not."""
    kinds.step("a")
    child = kinds.step("c")
    of_parent, of_child = look(kinds.pid), look(child)
    # Tables of pages are copied; what the child does before it waits are a few pages.
    assert abs(of_child["anonymous_resident"] - of_parent["anonymous_resident"]) <= 64 * 4096, (of_parent, of_child)
    done = alys("graph", "-p", child, "--show", "counts")
    assert done.returncode in (0, 3) and len(done.stderr.splitlines()) == 1, done.stderr
    os.kill(child, signal.SIGKILL)


def test_program_that_has_run_out_of_memory(kinds):
    """It cannot allocate any more, and goes on after it was read."""
    got = kinds.step("l")
    assert got > 30 << 20
    answer = look(kinds.pid, "--freeze")
    if answer["report"] == "malloc":
        assert answer["used_resident"] > got * 9 // 10
        for verb in (("census",), ("graph", "--show", "counts")):
            done = alys(*verb, "-p", kinds.pid, "--freeze")
            assert done.returncode == 0, done.stderr
    assert kinds.step("x") == 0


@pytest.mark.parametrize("verb", [("census", "--freeze"), ("census",), ("census", "--heap", "--freeze"), ("graph", "--show", "counts", "--freeze"),
                                  ("graph", "--show", "counts")], ids=" ".join)
def test_stopped_midway(started, verb):
    """Stopped by a signal while it allocates: an answer or one sentence; it stays stopped, and goes on when it is told to."""
    program = started.program("c_malloc", "3", "2")
    program.line()
    program.proc.stdin.write(b"c")
    program.proc.stdin.flush()
    for i in range(8):
        os.kill(program.pid, signal.SIGSTOP)
        while "stop" not in Path(f"/proc/{program.pid}/status").read_text():
            time.sleep(0.001)
        done = alys(*verb, "-p", program.pid)
        assert done.returncode == 0 or (done.returncode == 1 and len(done.stderr.splitlines()) == 1), done.stderr
        # The kernel wakes it for a moment when a tracer leaves it; it stops again before it returns to its code.
        wait_until(lambda: re.search(r"^State:\tT \(stopped\)", Path(f"/proc/{program.pid}/status").read_text(), re.M))
        os.kill(program.pid, signal.SIGCONT)
        time.sleep(0.003 * i)
    ran = ticks(program.pid)
    while ticks(program.pid) == ran:
        time.sleep(0.01)


def ticks(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


# --- programs as they are -------------------------------------------------------------------------------

def until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture(params=["python3", "node", "redis", "postgres"])
def stranger(request):
    """A program of Debian's that waits with something on its heap; its pid, and a function that has it answer."""
    folder = Path(tempfile.mkdtemp())
    os.chmod(folder, 0o777)  # of postgres, which does not run as root
    socket, user = folder / "redis.sock", None
    if request.param == "python3":
        words = ["/usr/bin/python3", "-c", "kept = [str(i) * 40 for i in range(50000)]\nwhile True: print(len(kept), flush=True), input()"]
    elif request.param == "node":
        words = ["node", "-e", "const kept = []; for (let i = 0; i < 20000; i++) kept.push({i}); console.log(20000);"
                               "process.stdin.on('data', () => console.log(kept.length));"]
    elif request.param == "redis":
        words = ["redis-server", "--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", str(folder)]
    else:
        words, user = ["/usr/lib/postgresql/15/bin/postgres", "--single", "-j", "-D", str(folder / "cluster"), "postgres"], "postgres"
        subprocess.run(["/usr/lib/postgresql/15/bin/initdb", "-D", folder / "cluster", "-A", "trust", "-N"], user=user, check=True,
                       stdout=subprocess.DEVNULL, cwd=folder)
    running = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, user=user, cwd=folder)

    silent = threading.Timer(TIMEOUT, running.kill)  # then its output ends
    silent.start()

    def answers():
        if request.param == "redis":
            return subprocess.run(["redis-cli", "-s", socket, "ping"], capture_output=True, text=True).stdout == "PONG\n"
        if request.param == "postgres":
            running.stdin.write(b"select 6 * 7 as answer;\n\n")
            running.stdin.flush()
            while b"42" not in (line := running.stdout.readline()):
                assert line
            return True
        running.stdin.write(b"\n")
        running.stdin.flush()
        return int(running.stdout.readline()) in (20000, 50000)

    if request.param in ("python3", "node"):
        running.stdout.readline()
    until(answers)
    yield running.pid, answers
    silent.cancel()
    running.kill()
    running.wait()
    shutil.rmtree(folder)


def test_programs_as_they_are(stranger):
    pid, answers = stranger
    answer = look(pid)
    if answer["report"] == "mappings":
        assert answer["allocator"] != "unknown"
    else:
        counted = json.loads(alys("census", "-p", pid, "-f", "json", "--freeze").stdout)
        assert counted["odd"] == 0 and "proven: " in counted["layout"], counted
        frozen = json.loads(alys("census", "--heap", "-p", pid, "-f", "json", "--freeze").stdout)
        assert abs(frozen["total"]["used"] - counted["total"]["count"]) <= counted["total"]["count"] // 10 + 5
        drawn = alys("graph", "-p", pid, "--show", "counts", "--freeze")
        assert drawn.returncode == 0 and "conservative" in drawn.stderr, drawn.stderr
        kind = counted["rows"][0]["type"]
        drawn = json.loads(alys("graph", "-p", pid, "--type", kind, "--paths", "-f", "json", "--freeze").stdout)
        assert drawn["conservative"] and any(o["target"] for o in drawn["objects"])
    assert answers()
