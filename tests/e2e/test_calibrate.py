# SPDX-License-Identifier: Apache-2.0
"""
Sites are checked against real calls before they are used: those of Debian's libraries pass, one that is
spoiled on purpose does not, and a library that cannot be tried says why, without harm.
"""

import re
import subprocess
import time
from pathlib import Path

import pytest

from calibration import CASE, LATE, case, in_time  # noqa: F401 (a fixture)
from conftest import PROGS, TIMEOUT, alys, assert_law
from own_allocator import own_library

LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
LIBGC = LIBRARIES / "libgc.so.1"
SPOILED = ["register", "address", "frame", "lists", "slow", "argument"]

pytestmark = [pytest.mark.bpf, pytest.mark.beside]


def run_case(library, how):
    done = subprocess.run([CASE, library, how], capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr
    verdict, _, text = done.stdout.rstrip("\n").split(" ", 2)
    return verdict, text


def agreeing(library, how):
    verdict, text = in_time(lambda: run_case(library, how))
    assert verdict == "agreed", text
    return text


@pytest.mark.parametrize("how", ["good", "ret"])
def test_libgc_agrees(how):
    assert int(re.fullmatch(r"calibrated: (\d+) calls agreed", agreeing(LIBGC, how))[1]) > 4000


@pytest.mark.parametrize("name", ["libc.so.6", "libjemalloc.so.2", "libtcmalloc.so.4", "libmimalloc.so.2"])
def test_plain_allocators_agree(name):
    agreeing(LIBRARIES / name, "good")


@pytest.mark.parametrize("how", SPOILED)
def test_spoiled_site_is_caught(how):
    verdict, text = in_time(lambda: run_case(LIBGC, how))
    assert verdict == "wrong", text
    assert "GC_" in text


def test_executable_cannot_be_tried():
    assert run_case(PROGS / "c_static", "good") == ("unproven", "not calibrated: an executable cannot be loaded alone")


def test_library_of_another_libc_says_why(tmp_path):
    library = tmp_path / "libmusl.so"
    subprocess.run(["gcc", "-shared", "-nostdlib", "-o", library, "-x", "c", "-",
                    "-Wl,-soname,libc.absent.so.1"], input="", text=True, check=True)
    needs = tmp_path / "libneeds.so"
    subprocess.run(["gcc", "-shared", "-Wl,--no-as-needed", "-o", needs, "-x", "c", "-", "-x", "none", library],
                   input="void *malloc(unsigned long n) { return (void *)n; }", text=True, check=True)
    verdict, text = in_time(lambda: run_case(needs, "good"))
    assert verdict == "unproven"
    assert text.startswith('not calibrated: it cannot be loaded alone; the loader says: "libc.absent.so.1: '), text


def test_library_gets_no_rights(tmp_path):
    """The library's constructor ends the helper if it still has any privilege of root."""
    library = own_library(tmp_path, 'if (!geteuid() || !getuid() || !setuid(0) || !setgid(0) || '
                          'open("/etc/shadow", O_RDONLY) >= 0 || '
                          'socket(AF_INET, SOCK_STREAM, 0) >= 0 || fork() >= 0 || kill(getppid(), 0) == 0 || '
                          'execl("/bin/true", "true", (char *)0) == 0 || open("/tmp/x", O_RDWR | O_CREAT, 0600) >= 0 || '
                          'getenv("PATH") || fcntl(6, F_GETFD) >= 0) _exit(0)')
    agreeing(library, "good")


@pytest.mark.parametrize("constructor, words", [
    ("for (;;) pause()", LATE),
    ("__builtin_trap()", "did not survive"),
    ("__builtin_memset(mmap(0, 200 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 200 << 20)", "did not survive"),
    ('write(5, "r", 1); write(5, malloc(1 << 20), 1 << 20)', "calibrat"),
])
def test_hostile_library_is_given_up(tmp_path, constructor, words):
    library = own_library(tmp_path, constructor)
    verdict, text = run_case(library, "good")
    assert words in text or LATE in text
    assert verdict != "agreed"


def test_helper_word_alone_is_harmless():
    done = alys("--call-allocator")
    assert done.returncode in (0, 1)


def test_doctor_and_recording_say_it(started, tmp_path):
    program = started.program("c_gc").wait_ready()
    listed = in_time(lambda: alys("doctor", "--probes", program.pid), lambda done: LATE in done.stdout)
    assert listed.returncode == 0, listed.stderr
    paragraph = listed.stdout[listed.stdout.index("libgc.so"):]
    assert re.match(r"\S+\ncalibrated: \d+ calls agreed\n", paragraph), paragraph[:300]
    refills = paragraph[paragraph.index("\nwith --sample-at refill instead of GC_malloc_kind, "):]
    assert "\nGC_malloc_kind (libgc) at 0x" in refills and ": the whole call, size in r" in refills, refills
    assert_recording_says_it(started, program.pid, "-o", tmp_path / "t.alys")


def assert_recording_says_it(started, pid, *args):
    def said():
        return started.tracer("-p", pid, "--force", *args).recording().stop().text
    text = in_time(said, lambda text: LATE in text)
    assert re.search(r"libgc\.so\S*: calibrated: \d+ calls agreed", text), text


def test_sampling_at_refills_is_tried_at_calls(started, tmp_path):
    program = started.program("c_gc").wait_ready()
    assert_recording_says_it(started, program.pid, "--sample", "bytes:64k", "-o", tmp_path / "t.alys")


def trial(started, how, *words):
    """A trial of a program with a statically linked collector, with correct or spoiled sites."""
    program = started.program("alloc.staticgc").wait_ready()
    case = subprocess.Popen([CASE, PROGS / "alloc.staticgc", how, str(program.pid), *words], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert case.stdout.readline() == "on trial\n", case.stderr.read()
        program.go().truths()
        said, _ = case.communicate("look\n", timeout=TIMEOUT)
    finally:
        case.kill()
        case.wait()
    assert program.finish() == 0
    return [int(n) for n in said.split()]


def test_a_trial_agrees(started):
    agreed, wrong = trial(started, "good")
    assert agreed > 1000 and wrong == 0


@pytest.mark.parametrize("how", ["register", "frame", "lists", "slow"])
def test_a_trial_catches_a_wrong_site(started, how):
    _, wrong = trial(started, how)
    assert wrong > 0


@pytest.mark.parametrize("how", ["good", "register", "lists"])
def test_no_call_is_lost_when_a_trial_ends(started, how):
    """Whichever exits are chosen, calls that began under the others are paired, and so are later ones."""
    agreed, wrong, hits, recorded, lost = trial(started, how, "end")
    assert (wrong == 0) == (how == "good")
    assert hits > 10000 and lost == 0
    assert recorded > 0.95 * hits  # the others: calls of the collector's into itself


def test_an_executable_is_tried_in_the_first_calls(started, tmp_path):
    """Counts are exact before, during and after the exits are changed."""
    program = started.program("alloc.staticgc").wait_ready()
    listed = alys("doctor", "--probes", program.pid)
    assert "cannot be loaded alone; a recording compares the first thousand calls" in listed.stdout
    tracer = started.tracer("-p", program.pid, "-o", tmp_path / "t.alys").recording()
    truth = program.go().truths()[0]["sites"]
    tracer.stop()
    assert re.search(r"alloc\.staticgc: \d{4,} first calls agreed, 0 did not: results are read at cheap exits", tracer.text)
    book = assert_law(tmp_path / "t.alys")
    assert book.rows["recorded-alloc"] >= sum(site["allocs"] for site in truth.values())


@pytest.mark.parametrize("args", [("-s", "bytes:64k", "--sample-at", "call"), ("-s", "bytes:64k")], ids=["call", "refill"])
def test_a_trial_ends_however_few_calls_are_sampled(started, tmp_path, args):
    """A trial counts only calls that are seen: with sampling at refills, returns of single calls are not probed."""
    program = started.program("alloc.staticgc").wait_ready()
    tracer = started.tracer("-p", program.pid, *args, "-o", tmp_path / "t.alys").recording()
    truth = program.go().truths()[0]["sites"]
    tracer.stop()
    assert re.search(r"alloc\.staticgc: \d{4,} first calls agreed, 0 did not", tracer.text), tracer.text
    book = assert_law(tmp_path / "t.alys")
    if "--sample-at" in args:
        assert book.rows["hits-alloc"] >= sum(site["allocs"] for site in truth.values())
    else:
        assert book.rows["exits-unpaired"] < 3 * book.rows["hits-alloc"]


def breakpoints(pid, path):
    """The number of bytes of a file's code that the kernel has patched in a process."""
    with open(f"/proc/{pid}/mem", "rb", 0) as mem, open(path, "rb") as file:
        for line in open(f"/proc/{pid}/maps"):
            span, rights, offset, *_ = line.split()
            if "x" in rights and line.rstrip().endswith(str(path)):
                start, end = (int(n, 16) for n in span.split("-"))
                mem.seek(start)
                file.seek(int(offset, 16))
                return sum(a != b for a, b in zip(mem.read(end - start), file.read(end - start)))
    return 0


def test_one_verdict_is_for_all_processes(started, tmp_path):
    """When a process ends a trial, other processes do not keep the trial's expensive exits."""
    path = PROGS / "alloc.staticgc"
    programs = [started.program("alloc.staticgc").wait_ready() for _ in "ab"]
    tracer = started.tracer("-p", ",".join(str(p.pid) for p in programs), "-o", tmp_path / "t.alys").recording()
    during = [breakpoints(p.pid, path) for p in programs]
    truths = {programs[0].pid: programs[0].go().truths()[0]["sites"]}
    end = time.monotonic() + TIMEOUT
    while not tracer.has_said("first calls agreed") and time.monotonic() < end:
        time.sleep(0.1)
    after = during
    while not after[0] == after[1] < during[1] and time.monotonic() < end:
        time.sleep(0.1)
        after = [breakpoints(p.pid, path) for p in programs]
    assert during[0] == during[1] and 0 < after[1] < during[1] and after[0] == after[1], (during, after, tracer.text)
    truths[programs[1].pid] = programs[1].go().truths()[0]["sites"]
    tracer.stop()
    assert tracer.text.count("first calls agreed") == 1
    book = assert_law(tmp_path / "t.alys")
    assert book.rows["recorded-alloc"] >= sum(site["allocs"] for sites in truths.values() for site in sites.values())
