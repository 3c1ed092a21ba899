# SPDX-License-Identifier: Apache-2.0
"""Programs that alys-bpf starts are recorded from their first instruction. They are stopped for that, without harm."""

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

import conftest
from conftest import ALYS, PROGS, STRAIGHT, TIMEOUT, alys, assert_law, events_of

pytestmark = pytest.mark.bpf

SHORT, ROUNDS, SIZE = PROGS / "c_short", 20000, 77
JEMALLOC = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
TCMALLOC = "/usr/lib/x86_64-linux-gnu/libtcmalloc.so.4"


def root_of_its_own(folder):
    """Copies of the program and its libraries at the same paths under another root, so with other inodes."""
    for file in [str(SHORT), *re.findall(r"/\S+", subprocess.check_output(["ldd", SHORT], text=True))]:
        there = Path(f"{folder}/{file}")
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, there)
    return folder


SLOW = """
#include <time.h>
static int one(void) { return 1; }
static void *chosen(void)
{
	struct timespec pause = { .tv_nsec = PAUSE * 1000000 };
	long rc;
	__asm__ volatile("syscall" : "=a"(rc) : "0"(35L), "D"(&pause), "S"(0L) : "rcx", "r11", "memory");
	return one;
}
int slow_one(void) __attribute__((ifunc("chosen")));
int slow_use(void) { return slow_one(); }
"""


def slow_to_load(folder, ms):
    """A library that the dynamic linker takes long to load: the kernel reports all mapped files long before they are usable."""
    source, library = folder / "slow.c", folder / "slow.so"
    source.write_text(SLOW)
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", f"-DPAUSE={ms}", "-Wl,-z,now", source, "-o", library], check=True)
    return library


WAYS = {
    **{f"slow-{ms}": lambda tmp, ms=ms: ["env", f"LD_PRELOAD={TCMALLOC} {slow_to_load(tmp, ms)}", SHORT] for ms in (30, 100, 300)},
    # The collector's layout is proven while the recording runs; the program waits for that, too.
    **{f"slow-libgc-{ms}": lambda tmp, ms=ms: ["env", f"LD_PRELOAD={slow_to_load(tmp, ms)}", PROGS / "c_short_gc"] for ms in (80, 120, 200)},
    "preloaded": lambda tmp: ["env", f"LD_PRELOAD={JEMALLOC}", SHORT],
    "chroot": lambda tmp: ["chroot", root_of_its_own(tmp / "root"), SHORT],
    "shell": lambda tmp: ["--follow", "sh", "-c", f"true; LD_PRELOAD={JEMALLOC} {SHORT}; true"],
    "musl": lambda tmp: ["env", PROGS / "c_short_musl"],
    "static": lambda tmp: ["env", PROGS / "c_short_static"],
}


@pytest.mark.parametrize("way", WAYS)
def test_short_programs_behind_others(tmp_path, way):
    words, options = WAYS[way](tmp_path), []
    if words[0] == "--follow":
        options.append(words.pop(0))
    trace = tmp_path / "t.alys"
    done = alys("-q", *options, "-o", trace, "--", *words, env=STRAIGHT)
    assert done.returncode == 0, done.stderr
    ours = [e for e in events_of(trace, tmp_path) if e.get("size") == SIZE and e["kind"] == "alloc"]
    named = [e for e in ours if conftest.site_of(e) == "site_short"]
    assert (len(ours), len(named)) == (ROUNDS, ROUNDS), alys("info", trace).stdout
    assert_law(trace)


def test_a_compiler_s_children_have_whole_stacks(tmp_path):
    source, trace = tmp_path / "f.c", tmp_path / "t.alys"
    source.write_text("#include <stdio.h>\nint main(void) { return printf(\"x\"); }\n")
    done = alys("-q", "--follow", "-o", trace, "--", "gcc", "-c", source, "-o", tmp_path / "f.o")
    assert done.returncode == 0, done.stderr
    calls = [e for e in events_of(trace, tmp_path) if e["kind"] == "alloc"]
    cut = [e for e in calls if "[no-table]" in str(e["stack"])]
    assert len(calls) > 1000 and len(cut) <= len(calls) / 200, (len(cut), len(calls), alys("info", trace).stdout)


def test_a_library_loaded_by_the_program_is_named_from_its_first_call(tmp_path):
    trace = tmp_path / "t.alys"
    done = alys("-q", "-o", trace, "--", PROGS / "c_dlopen", env=STRAIGHT)
    assert done.returncode == 0, done.stderr
    calls = [e for e in events_of(trace, tmp_path) if e.get("size") == 88 and e["kind"] == "alloc"]
    assert len(calls) == 700
    assert all(conftest.site_of(e) == "site_plugin" for e in calls)
    assert all("main" in str(e["stack"]) for e in calls)


PARENT = """
import os, signal, sys
heard = []
signal.signal(signal.SIGCHLD, lambda *_: heard.append(1))
pid = os.fork()
if not pid:
    os.execv(sys.argv[1], sys.argv[1:])
seen = []
while not seen or not (os.WIFEXITED(seen[-1]) or os.WIFSIGNALED(seen[-1])):
    seen.append(os.waitpid(pid, os.WUNTRACED | os.WCONTINUED)[1])
print(seen, len(heard))
"""


def test_the_parent_hears_of_no_stop(tmp_path):
    done = alys("-q", "--follow", "-o", tmp_path / "t.alys", "--", "/usr/bin/python3", "-c", PARENT, SHORT, env=STRAIGHT)
    assert (done.returncode, done.stdout.strip()) == (0, "[0] 1"), done.stderr


def test_set_user_id_programs_keep_their_rights(public, tmp_path):
    program = public("/usr/bin/id")
    program.chmod(0o4755)
    done = alys("-q", "-o", tmp_path / "t.alys", "--", "setpriv", "--reuid=65534", "--clear-groups", program, "-u")
    assert (done.returncode, done.stdout.strip()) == (0, "0"), done.stderr


def test_who_is_traced_by_another_is_left_to_him(tmp_path):
    log = tmp_path / "strace"
    done = alys("-q", "--follow", "-o", tmp_path / "t.alys", "--", "strace", "-f", "-o", log, "env", SHORT, env=STRAIGHT)
    assert done.returncode == 0, done.stderr
    assert "+++ exited with 0 +++" in log.read_text()


def state_of(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "gone"


def await_state(pid, wanted, timeout=TIMEOUT):
    end = time.monotonic() + timeout
    while state_of(pid) not in wanted:
        assert time.monotonic() < end, (pid, state_of(pid))
        time.sleep(0.01)


def holders_of(tracer):
    found = []
    for pid in conftest.os.listdir("/proc"):
        try:
            stat = Path(f"/proc/{pid}/stat").read_text() if pid.isdigit() else ""
        except OSError:
            continue
        if "(alys-holder)" in stat and stat.rsplit(")", 1)[1].split()[1] == str(tracer):
            found.append(int(pid))
    return found


@pytest.mark.beside
@pytest.mark.parametrize("dies", ["tracer", "holders", "nobody"])
def test_nothing_stays_held(started, tmp_path, dies):
    """While the tracer is stopped, a program stays held at its start. Then either of them exits, or the wait times out."""
    said, go, trace = tmp_path / "said", tmp_path / "go", tmp_path / "t.alys"
    os.mkfifo(go)
    script = f"echo $$ > {said}; read x < {go}; exec env sh -c 'echo done >> {said}'"
    tracer = started.tracer("-o", trace, "--", "sh", "-c", script).recording()
    while not said.exists() or not said.read_text().endswith("\n"):
        time.sleep(0.01)
    pid = int(said.read_text())
    holders = holders_of(tracer.proc.pid)
    assert len(holders) == 2
    tracer.proc.send_signal(signal.SIGSTOP)
    go.write_text("x\n")
    await_state(pid, "t")
    if dies == "tracer":
        tracer.proc.kill()
    for holder in holders if dies == "holders" else []:
        os.kill(holder, signal.SIGKILL)
    await_state(pid, ("Z", "gone"))
    tracer.proc.send_signal(signal.SIGCONT)
    assert said.read_text().split() == [str(pid), "done"]
    tracer.wait()
    if dies == "nobody":
        assert conftest.ledger(trace).rows["not-held"] >= 2, "env and sh began before the tracer saw them"


@pytest.fixture
def vforks(tmp_path):
    """c_vforks, a tracer, and the process that holds c_vforks at its start."""
    tracer = subprocess.Popen([ALYS, "-q", "-o", tmp_path / "t.alys", "--", PROGS / "c_vforks"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, bufsize=1)
    assert tracer.stdout.readline() == "ready\n"
    children = Path(f"/proc/{tracer.pid}/task/{tracer.pid}/children").read_text().split()
    names = {int(pid): Path(f"/proc/{pid}/comm").read_text().strip() for pid in children}
    yield tracer, [pid for pid in names if names[pid] == "c_vforks"][0], [pid for pid in names if names[pid] == "alys-holder"]
    for pid in names:
        if tracer.poll() is None:
            os.kill(pid, signal.SIGKILL)
    tracer.communicate()


def test_a_thread_that_cannot_stop_keeps_nobody(vforks):
    """The holder arrives while one calling thread is in vfork and cannot stop. The other thread must not wait for it."""
    tracer, pid, holders = vforks
    for holder in holders:
        os.kill(holder, signal.SIGSTOP)
    tracer.stdin.write("\n")
    assert tracer.stdout.readline() == "both\n"
    for holder in holders:
        os.kill(holder, signal.SIGCONT)
    while "TracerPid:\t0\n" in Path(f"/proc/{pid}/status").read_text():
        time.sleep(0.001)
    tracer.stdin.write("\n")
    assert tracer.wait(TIMEOUT) == 0


def test_nobody_is_held_whose_word_is_lost(started, tmp_path):
    """If the ring is full, the request to hold is lost: the program continues at once, and the loss is counted."""
    said, go, trace = tmp_path / "said", tmp_path / "go", tmp_path / "t.alys"
    os.mkfifo(go)
    script = (f"echo $$ > {said}; read x < {go}; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; "
              f"exec env sh -c 'echo done >> {said}'")
    tracer = started.tracer("--ring", "64k", "-o", trace, "--", "sh", "-c", script).recording()
    while not said.exists() or not said.read_text().endswith("\n"):
        time.sleep(0.01)
    pid = int(said.read_text())
    tracer.proc.send_signal(signal.SIGSTOP)
    go.write_text("x\n")
    await_state(pid, ("Z", "gone"))
    tracer.proc.send_signal(signal.SIGCONT)
    assert said.read_text().split() == [str(pid), "done"]
    tracer.wait()
    book = assert_law(trace, lost=None)
    assert book.lost and book.rows["process-events-lost"] and book.rows["not-held"] >= 2, book.rows


def test_cut_stacks_are_counted_by_event(tmp_path):
    trace = tmp_path / "t.alys"
    done = alys("-q", "--backtrace-limit", "2", "-o", trace, "--", SHORT, env=STRAIGHT)
    assert done.returncode == 0, done.stderr
    info = alys("info", trace).stdout
    cut = int(re.search(r"^cut stacks +(\d+) of \d+ events: truncated \1$", info, re.M).group(1))
    assert 2 * ROUNDS <= cut <= conftest.ledger(trace).recorded


def loaded(tracer):
    """The BPF programs of a tracer: {name: whether it is more than a stub}."""
    ids = {int(n) for text in conftest.fdinfo(tracer.proc.pid) for n in re.findall(r"^prog_id:\s*(\d+)", text, re.M)}
    return {p["name"]: p["bytes_xlated"] > 100 for p in conftest.bpftool("prog") if p["id"] in ids}


def test_programs_that_nobody_needs_are_not_loaded(started, tmp_path):
    """Verifying them takes longer than the rest of a recording's start. With a launched program, none is being loaded later."""
    tracer = started.tracer("-o", tmp_path / "t.alys", "--", "sleep", "600").recording()
    here = loaded(tracer)
    subprocess.run(["pkill", "-x", "-P", str(tracer.proc.pid), "sleep"], check=True)
    tracer.wait()
    assert (here.get("call_session") or here["plain_enter"]) and here["free_enter"] and not here["gc_begin"], here


def test_programs_of_a_collector_are_loaded_with_it(started, tmp_path):
    target = started.program("c_gclive").wait_ready()
    tracer = started.tracer("-p", target.pid, "-o", tmp_path / "t.alys").recording()
    here = loaded(tracer)
    tracer.stop()
    assert here["gc_begin"] and here["gc_end"], here
