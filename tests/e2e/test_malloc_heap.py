# SPDX-License-Identifier: Apache-2.0
"""
Heaps of glibc's malloc, read from outside, compared with the program's counts and with malloc_info: in untraced programs,
stripped, static, with other allocators, with damaged heaps, and while they exit or allocate.
"""
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import ALYS, PROGS, TIMEOUT, alys

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="not root: may not read other processes")

NOTHING = 3
RESERVE = 72712
CLASSES = {"shapes::Circle": 700, "shapes::Box<int>": 300, "Shape": 5}
FREE = ("fastbin", "unsorted", "small_bin", "large_bin", "top")


def census(program, *args, status=0):
    done = alys("census", "-p", program.pid, "--freeze", "-f", "json", *args)
    assert done.returncode == status, (done.stdout, done.stderr)
    return json.loads(done.stdout)


def step(program, byte):
    program.proc.stdin.write(byte)
    program.proc.stdin.flush()
    return json.loads(program.line())


def by_size(answer):
    """Blocks that are not C++ objects, by usable size."""
    found = {int(m[1]): row["count"] for row in answer["rows"] if (m := re.fullmatch(r"\((\d+) bytes\)", row["type"]))}
    large = [row for row in answer["rows"] if re.fullmatch(r"\(\d+ to \d+ [KMG]iB\)", row["type"])]
    mapped = [row for row in answer["rows"] if row["type"].startswith("(mmapped")]
    return found, [sum(row[k] for row in rows) for rows, k in ((large, "count"), (mapped, "count"), (large + mapped, "bytes"))]


def differences(answer, truth):
    """Blocks beside the program's own: the library's tables for threads."""
    sizes, others = by_size(answer)
    told = {int(k): n for k, n in truth["sizes"].items()}
    extra = {k: sizes.get(k, 0) - told.get(k, 0) for k in sizes | told}
    return {k: n for k, n in extra.items() if n}, [n - truth[k] for n, k in zip(others, ("larger", "mapped", "bytes"))]


def check_malloc_agrees(answer, truth):
    assert answer["odd"] == 0 and answer["unread_bytes"] == 0 and answer["frozen_ms"] > 0, answer
    assert sum(a["bytes"] for a in answer["arenas"]) == truth["arena"]
    assert sum(answer[f"{k}_bytes"] for k in FREE) == truth["free"]
    assert (answer["fastbin_bytes"], answer["mmapped"], answer["mmapped_bytes"]) == (
        truth["fastbins"], truth["mmapped_cnt"], truth["mmapped"])
    assert sum(row["count"] for row in answer["rows"]) == answer["total"]["count"]


def test_census_is_what_the_program_counts(started):
    """Fifty different heaps: every block by size, and all totals of malloc_info."""
    program = started.program("c_malloc", "1", "3")
    truth, own = json.loads(program.line()), None
    for _ in range(50):
        answer = census(program)
        check_malloc_agrees(answer, truth)
        own = own or differences(answer, truth)
        assert differences(answer, truth) == own
        assert {k: row["count"] for row in answer["rows"] if (k := row["type"]) in CLASSES} == CLASSES
        truth = step(program, b"n")
    # The table of each thread's cache, and what is thread-local in it; libstdc++'s reserve for exceptions.
    assert own[0].get(648) == 4 and sum(own[0].values()) <= 8 and own[1] == [1, 0, RESERVE], own
    assert len(answer["arenas"]) == 4 and answer["tcache"] > 0 and "proven: 36" in answer["layout"], answer


def test_without_stopping_it(started, tmp_path):
    """The program ran without allocating, so the result is exact too. Classes are named without symbols."""
    stripped = tmp_path / "c_malloc"
    subprocess.run(["strip", "-o", stripped, PROGS / "c_malloc"], check=True)
    program = started.program(str(stripped), "7", "0")
    truth = json.loads(program.line())
    done = alys("census", "-p", program.pid, "--top", "0")
    assert done.returncode == 0 and "malloc of glibc 2." in done.stdout and "without stopping it" in done.stdout, done
    for name, cnt in CLASSES.items():
        assert re.search(rf"^ *{cnt} .* RTTI +{name}$", done.stdout, re.M), done.stdout
    assert f"{truth['mmapped_cnt']} blocks in mappings of their own" in done.stdout, done.stdout
    assert not done.stderr, done.stderr


def memory(program, *args):
    """RSS by the kernel and by the report."""
    done = alys("census", "--heap", "-p", program.pid, "--freeze", "-f", "json", *args)
    assert done.returncode == 0, done.stderr
    rollup = Path(f"/proc/{program.pid}/smaps_rollup").read_text()
    return json.loads(done.stdout), 1024 * int(re.search(r"^Rss: +(\d+) kB", rollup, re.M)[1])


PARTS = ("used", "mmapped", "tcache", "fastbin", "bins", "top", "anonymous", "stacks", "written", "files", "shared")


def not_resident(answer):
    return sum(answer[f"{k}_bytes"] for k in ("unsorted", "small_bin", "large_bin")) - answer["bins_resident"]


def test_where_the_memory_is(started):
    """The parts add up to the kernel's RSS, and malloc_trim gives back what was promised."""
    program = started.program("c_malloc", "1", "3")
    truth = json.loads(program.line())
    before, rss = memory(program)
    check_malloc_agrees({**before, "total": {"count": 0}, "rows": []}, truth)
    assert before["rss_resident"] == sum(before[f"{k}_resident"] for k in PARTS), before
    # The kernel may take pages of files from it at any time, where memory is short.
    assert abs(before["rss_resident"] - rss) <= before["files_resident"], (before, rss)
    assert before["stacks_resident"] > 0 and before["swapped"] == 0 and before["trimmable"] > 100000, before
    assert before["total"]["used"] == sum(row["used"] for row in before["rows"])
    assert sum(row["tcache"] for row in before["rows"]) == before["tcache"] > 0
    step(program, b"t")
    after, less = memory(program)
    assert abs(after["rss_resident"] - less) <= before["files_resident"] and after["trimmable"] == 0, after
    # To give it back, malloc writes to a few pages.
    given = sum(before[f"{k}_resident"] - after[f"{k}_resident"] for k in PARTS[:7])
    assert 0 <= before["trimmable"] - given <= 16 * 4096, (before, after)
    # What was trimmed is free and not resident; the end of the main arena has become smaller instead.
    trimmed = not_resident(after) - not_resident(before)
    assert 0 <= before["trimmable"] - trimmed <= before["top_resident"] + 16 * 4096 and trimmed > 0, (before, after)
    done = alys("report", "--heap", "-p", program.pid)
    assert done.returncode == 0 and "malloc: free in threads' caches (tcache)" in done.stdout, done
    assert "malloc_trim(0) would give back 0 B" in done.stdout, done


def test_by_arena(started, tmp_path):
    """Of each arena what malloc_info says: its size, and what is free outside of threads' caches."""
    info = tmp_path / "info"
    program = started.program("/bin/sh", "-c", f"exec {PROGS / 'c_malloc'} 7 3 2>{info}")
    program.line()
    answer = memory(program, "--freeze")[0]
    step(program, b"i")
    heaps = [heap.split("</heap>")[0] for heap in info.read_text().split("<heap nr=")[1:]]
    assert len(heaps) == len(answer["arenas"]) == 4
    for arena, heap in zip(answer["arenas"], heaps):
        assert arena["bytes"] == int(re.search(r'<system type="current" size="(\d+)"', heap)[1])
        (_, fast), (chunks, rest) = re.findall(r'<total type="(?:fast|rest)" count="(\d+)" size="(\d+)"', heap)
        # To the sizes of chunks in bins, not to the top's, it adds their flags: 1, and 4 for some of other arenas than the main one.
        flags = int(fast) + int(rest) - (arena["free_bytes"] - arena["tcache_bytes"])
        least = int(chunks) - 1
        assert flags == least if heap is heaps[0] else least <= flags <= 5 * least and (flags - least) % 4 == 0, (arena, heap)
    assert sum(a["tcache_bytes"] for a in answer["arenas"]) == answer["tcache_bytes"] > 0
    text = alys("report", "--heap", "-p", program.pid).stdout
    for arena in answer["arenas"]:
        assert re.search(rf"^arena {arena['address']}: {arena['used']:,} blocks in use, .*; free ", text, re.M), text


def recorded_heap(program, *args):
    """`report --heap -d` while the program does its work: its truth, and what the report wrote."""
    running = subprocess.Popen([ALYS, "report", "--heap", "-v", "-p", str(program.pid), "-d", "1000", *args], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for line in running.stderr:
        if "recording 1 process" in line:
            break
    program.go()
    truth = json.loads(program.line())
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=TIMEOUT)
    assert running.returncode == 0, err
    return truth, out


@pytest.mark.bpf
@pytest.mark.beside
def test_whose_blocks_keep_empty_pages(started):
    truth, out = recorded_heap(started.program("c_held").wait_ready(), "-f", "json")
    memory, end = json.JSONDecoder().raw_decode(out)
    rows = json.loads(out[end:])["rows"]
    sites = {name: sum(row["count"] for row in rows if name in row["site"]) for name in ("keeper", "filler", "old", "guard")}
    # The guard's end may share no page with others.
    assert sites == {"keeper": truth["kept"], "filler": 0, "old": 0, "guard": memory["pinned_recorded_blocks"] - truth["kept"]}
    assert memory["pinned_recorded_pages"] == truth["pages"] + sites["guard"] and sites["guard"] <= 1, memory
    assert memory["pinned_other_is"] == "older" and memory["pinned_other_pages"] == memory["pinned_pages"] - memory["pinned_recorded_pages"]
    assert 0 <= memory["pinned_other_pages"] - truth["older_pages"] <= 1, memory
    assert 0 <= memory["pinned_other_blocks"] - truth["older"] <= 1, memory


@pytest.mark.bpf
@pytest.mark.beside
def test_older_blocks_that_keep_empty_pages_are_said(started):
    truth, out = recorded_heap(started.program("c_held").wait_ready())
    assert f"pages of which at most a tenth is in use (blocks recorded here are in {truth['pages']}" in out or (
        f"blocks recorded here are in {truth['pages'] + 1} of them" in out), out
    assert re.search(rf"^ *{truth['kept']} .*site_keeper", out, re.M), out
    assert re.search(r"^5[01] other blocks in them, .* are older than the recording: 5[01] of the pages", out, re.M), out


@pytest.mark.bpf
@pytest.mark.beside
def test_samples_of_blocks_that_keep_empty_pages(started):
    """What was not sampled cannot be told from what is older."""
    _, out = recorded_heap(started.program("c_held").wait_ready(), "--sample", "bytes:2k", "-f", "json")
    memory, _ = json.JSONDecoder().raw_decode(out)
    assert memory["pinned_other_is"] == "older or not sampled", memory
    assert memory["pinned_recorded_blocks"] + memory["pinned_other_blocks"] >= 350, memory
    assert 5 < memory["pinned_recorded_blocks"] < 150, memory


def test_while_it_allocates_all_the_time(started):
    program = started.program("c_malloc", "3", "2")
    program.line()
    program.proc.stdin.write(b"c")
    program.proc.stdin.flush()
    for _ in range(3):
        answer = census(program)
        assert answer["odd"] == 0 and answer["frozen_ms"] > 0, answer
        assert {k: row["count"] for row in answer["rows"] if (k := row["type"]) in CLASSES} == CLASSES
    kept = answer["total"]["count"]  # sixty-four of them come and go
    for _ in range(10):
        done = alys("census", "-p", program.pid, "-f", "json")
        assert done.returncode == 0 or "its heap is damaged, or changes faster than it is read" in done.stderr, done
        running = json.loads(done.stdout) if done.returncode == 0 else {"odd": 0, "total": {"count": kept}}
        assert abs(running["total"]["count"] - kept) <= running["odd"] + 4, (kept, running["odd"], running["total"])


def test_damaged_heap_and_process_that_ends(started):
    program = started.program("c_malloc", "5", "1")
    program.line()
    step(program, b"b")
    done = alys("census", "-p", program.pid, "--freeze")
    assert done.returncode == 1 and "its heap is damaged: process" in done.stderr, done.stderr
    assert "which leads out of its arena" in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
    assert step(program, b"x")["arena"] > 0  # it runs on
    program.kill()
    done = alys("census", "-p", program.pid)
    assert done.returncode == NOTHING and len(done.stderr.splitlines()) == 1, done.stderr


SOURCE = """
#include <stdlib.h>
#include <unistd.h>
int main(void) {
    static void *kept[3000];
    for (int i = 0; i < 3000; i++) kept[i] = malloc(i % 3 ? 500 : 20);
    for (int i = 0; i < 3000; i += 5) free(kept[i]);
    write(1, "ready\\n", 6);
    return read(0, kept, 1) < 0;
}
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("malloc")
    (folder / "small.c").write_text(SOURCE)
    for name, *how in (("shared", "gcc"), ("static", "gcc", "-static"), ("pie", "gcc", "-static-pie", "-s"),
                       ("musl", "musl-gcc")):
        subprocess.run([*how, "-w", "-O1", "-o", folder / name, folder / "small.c"], check=True)
    return folder


@pytest.mark.parametrize("name", ["static", "pie"])
def test_linked_into_the_program(started, small, name):
    answer = census(started.program(str(small / name)).wait_ready())
    sizes, _ = by_size(answer)
    assert sizes[24] - 800 in range(0, 3) and sizes[504] - 1600 in range(0, 3), sizes
    assert answer["odd"] == 0 and "an executable cannot be loaded alone" in answer["layout"], answer


THREADS = """
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_barrier_t barrier;
static void *fill(void *ctx) {
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 40000; i++) *(volatile char *)malloc(500) = 1;
    pthread_barrier_wait(&barrier);
    pause();
    return ctx;
}
int main(void) {
    pthread_t t;
    char c;
    pthread_barrier_init(&barrier, NULL, 4);
    for (int i = 0; i < 3; i++) pthread_create(&t, NULL, fill, NULL);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    write(1, "ready\\n", 6);
    return read(0, &c, 1) < 0;
}
"""


@pytest.mark.parametrize("tunable", ["glibc.malloc.hugetlb=2", "glibc.malloc.hugetlb=0"])
def test_arenas_of_several_heaps(started, tmp_path, tunable):
    """Heaps begin at multiples of 64 MiB, or of 8 for huge pages: three arenas of 20 MB have several of these."""
    (tmp_path / "threads.c").write_text(THREADS)
    subprocess.run(["gcc", "-w", "-O1", "-pthread", "-o", tmp_path / "threads", tmp_path / "threads.c"], check=True)
    answer = census(started.program(str(tmp_path / "threads"), env={"GLIBC_TUNABLES": tunable}).wait_ready())
    assert answer["odd"] == 0 and answer["unread_bytes"] == 0, answer
    assert by_size(answer)[0][504] == 120000 and len(answer["arenas"]) == 4, answer


def test_other_allocators_are_named(started, small):
    done = alys("census", "-p", started.program(str(small / "musl")).wait_ready().pid)
    assert done.returncode == NOTHING and "its malloc is not glibc's: its C library is musl" in done.stderr, done
    preload = {"LD_PRELOAD": "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"}
    done = alys("census", "-p", started.program(str(small / "shared"), env=preload).wait_ready().pid)
    assert done.returncode == NOTHING, done
    assert "its malloc is not glibc's" in done.stderr and "jemalloc" in done.stderr, done


LIBRARIES = "/usr/lib/x86_64-linux-gnu/"
PRELOADED = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4", "mimalloc": "libmimalloc.so.2"}


def with_allocator(started, name, program, musl):
    if name == "musl":
        return started.program(str(musl)).wait_ready()
    return started.program(program, env={"LD_PRELOAD": LIBRARIES + PRELOADED[name]}).wait_ready()


@pytest.mark.parametrize("name", ["jemalloc", "tcmalloc", "mimalloc", "musl"])
@pytest.mark.parametrize("freeze", [(), ("--freeze",)], ids=["running", "frozen"])
def test_pages_of_other_allocators(started, small, name, freeze):
    """Without their insides: the parts add up to the RSS that the kernel has, and the mappings to its smaps."""
    program = with_allocator(started, name, str(small / "shared"), small / "musl")
    done = alys("census", "--heap", "-p", program.pid, "-f", "json", *freeze)
    assert done.returncode == 0 and not done.stderr, done.stderr
    answer, maps = json.loads(done.stdout), Path(f"/proc/{program.pid}/smaps").read_text()
    rss = 1024 * sum(map(int, re.findall(r"^Rss: +(\d+)", maps, re.M)))
    assert (answer["report"], answer["allocator"], answer["layout"]) == ("mappings", name, "not read")
    assert answer["rss_resident"] == sum(answer[f"{k}_resident"] for k in ("anonymous", "stacks", "written", "files", "shared"))
    assert abs(answer["rss_resident"] - rss) <= answer["files_resident"]
    assert answer["total"]["resident"] == answer["anonymous_resident"] and answer["total"]["mapped"] == answer["mapped"]
    assert answer["total"]["resident"] > 0 and answer["stacks_resident"] > 0
    for row in answer["rows"]:
        start, end = row["mapping"].split()[0][2:].split("-0x")
        assert re.search(rf"^0*{start}-0*{end} ...p 00000000 00:00 0 ", maps, re.M), row
    assert (answer["frozen_ms"] > 0) == bool(freeze)
    text = alys("report", "--heap", "-p", program.pid).stdout
    assert ("own_taken" in answer) == (name == "tcmalloc") != ("has no statistics" in text)
    assert f"this is by pages, without the blocks of its allocator ({name})" in text and "-d SECONDS records" in text


@pytest.fixture(scope="module")
def held_musl(tmp_path_factory):
    path = tmp_path_factory.mktemp("held") / "c_held"
    subprocess.run(["musl-gcc", "-w", "-O1", "-g", "-o", path, Path(__file__).parent.parent / "prog/c_held.c"], check=True)
    return path


@pytest.mark.bpf
@pytest.mark.beside
@pytest.mark.parametrize("name", ["jemalloc", "tcmalloc", "mimalloc", "musl"])
def test_whose_blocks_keep_pages_of_other_allocators(started, held_musl, name):
    """A page counts if what was recorded fills at most a tenth of it: by the program's own addresses."""
    truth, out = recorded_heap(with_allocator(started, name, "c_held", held_musl), "-f", "json")
    pages = {}
    for start, size in [(at, 240) for at in truth["addresses"]] + [(truth["guard"], 8192)]:
        for page in range(start >> 12, ((start + size - 1) >> 12) + 1):
            pages[page] = pages.get(page, 0) + min(start + size, (page + 1) << 12) - max(start, page << 12)
    held = {page: used for page, used in pages.items() if used <= 409.6}
    answer, end = json.JSONDecoder().raw_decode(out)
    rows = json.loads(out[end:])["rows"]
    assert (answer["pinned_pages"], answer["pinned_used_bytes"]) == (len(held), sum(held.values())), answer
    assert answer["pinned_other_is"] == "free, or older than the recording"
    keepers = sum(1 for at in truth["addresses"] if at >> 12 in held or (at + 239) >> 12 in held)
    assert sum(row["count"] for row in rows if "site_keeper" in row["site"]) == keepers > 200, rows
    assert not [row for row in rows if "site_filler" in row["site"] or "site_old" in row["site"]]
    assert answer["total"]["recorded"] == truth["kept"] + 1 and answer["total"]["recorded_bytes"] == truth["kept"] * 240 + 8192


COUNTING = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
kept = [bytearray(5000 * i) for i in range(400)]
taken = ctypes.c_size_t.in_dll(library, "TCMalloc_SystemTaken")
heap = ctypes.c_size_t()
def ask(name):
    assert library.MallocExtension_GetNumericProperty(name, ctypes.byref(heap))
    return heap.value
while True:
    mapped = ask(b"generic.heap_size") + ask(b"tcmalloc.pageheap_unmapped_bytes")
    print(taken.value, mapped, flush=True)
    input()
    kept = [bytearray(70000) for _ in kept]
"""


def test_what_tcmalloc_counts_itself(started):
    """Its variable, and that it is no less than what it says when it is asked."""
    library = LIBRARIES + PRELOADED["tcmalloc"]
    program = started.program("/usr/bin/python3", "-c", COUNTING, library, env={"LD_PRELOAD": library, "PYTHONMALLOC": "malloc"})
    for _ in range(3):
        taken, mapped = map(int, program.line().split())
        answer = json.loads(alys("census", "--heap", "-p", program.pid, "-f", "json").stdout)
        assert answer["own_taken"] == taken >= mapped > 4 << 20, answer
        program.proc.stdin.write(b"\n")
        program.proc.stdin.flush()
