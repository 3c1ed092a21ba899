# SPDX-License-Identifier: Apache-2.0
"""Unwind rows compared with readelf's, and complete stacks while mappings change."""

import json
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

import conftest
from conftest import PROGS, alys, assert_law, events_of, ledger
from golang import assert_go_stacks

bpf = pytest.mark.bpf
LIBC = "/usr/lib/x86_64-linux-gnu/libc.so.6"
LIBCRYPTO = "/usr/lib/x86_64-linux-gnu/libcrypto.so.3"
START = ["main", "__libc_start_call_main", "__libc_start_main", "_start"]
SORT = ["compare", "msort_with_tmp", "msort_with_tmp", "qsort_r"]
# Sizes of c_maps' calls -> how their stacks go.
WHOLE = {
    1101: [*SORT, "site_deep", "call", "of_library", *START],
    1201: [*SORT, "site_wide", "call", "of_library", *START],
    1401: [*SORT, "site_wide", "call", "of_library", *START],
    1501: [*SORT, "site_deep", "call", "of_library", *START],
    1601: [*SORT, "site_deep", "call", "of_library", *START],
}


# --- rows against readelf ----------------------------------------------------------------------------

def rows_of_readelf(path):
    """(address, CFA, rbp) of each row of each FDE."""
    text = subprocess.run(["readelf", "-wNF", path], capture_output=True, text=True, check=True).stdout
    columns = []
    for line in text.splitlines():
        words = line.split()
        if words[:2] == ["LOC", "CFA"]:
            columns = words
        elif re.match("[0-9a-f]{16} [a-z]", line) and int(words[0], 16): # a CIE's one row is at address 0
            row = dict(zip(columns, words))
            yield int(words[0], 16), row["CFA"], row.get("rbp", "u")


def rows_of_ours(path):
    done = alys("doctor", "--unwind", path)
    assert done.returncode == 0, done.stderr
    rows = [line.split(None, 3) for line in done.stdout.splitlines() if re.match("[0-9a-f]{16} ", line)]
    return [(int(words[0], 16), words[1:]) for words in rows], done.stdout


def counts_of(text):
    found = dict(re.findall(r"unsupported, (.*): (\d+)", text))
    return {why: int(n) for why, n in found.items()}


@pytest.mark.parametrize("path", [LIBC, LIBCRYPTO, str(PROGS / "c_libc")])
def test_rows_are_those_of_readelf(path):
    ours, text = rows_of_ours(path)
    at, compared, wrong = 0, 0, []
    for address, cfa, rbp in sorted(rows_of_readelf(path)):
        while at + 1 < len(ours) and ours[at + 1][0] <= address:
            at += 1
        rule = ours[at][1]
        plain = re.fullmatch(r"r[sb]p\+\d+", cfa) and re.fullmatch(r"u|c-\d+", rbp) and not rule[0].startswith("(")
        if not plain:
            continue
        compared += 1
        if rule[:2] != [cfa, rbp]:
            wrong.append((hex(address), cfa, rbp, rule))
    assert not wrong[:5]
    assert compared > 0.8 * len(ours)
    assert f"{len(ours)} rows" in text


# --- counted by kind -----------------------------------------------------------------------------------

NAMES = {"return address elsewhere": "rows-odd-ra", "frame from another register": "rows-odd-cfa",
         "frame pointer elsewhere": "rows-odd-rbp", "stack pointer elsewhere": "rows-odd-rsp",
         "too many special rules": "rows-too-special"}


def mapped_files(pid):
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {line.split(None, 5)[5] for line in lines if " r-xp " in line and "/" in line}


@bpf
@pytest.mark.beside
def test_rows_that_cannot_be_expressed_are_counted_by_kind(started, tmp_path):
    trace = tmp_path / "t.alys"
    target = started.program("/usr/bin/python3", "-c", "import hashlib, sys; print('ready', flush=True);"
                             "x = [bytearray(900 + i) for i in range(200)]; sys.stdin.read()")
    target.wait_ready()
    tracer = started.tracer("-p", target.pid, "-o", trace).recording()
    wanted = dict.fromkeys(NAMES.values(), 0)
    for path in mapped_files(target.pid):
        for why, n in counts_of(alys("doctor", "--unwind", path).stdout).items():
            wanted[NAMES[why]] += n
    time.sleep(0.5)
    tracer.stop()
    book = ledger(trace).rows
    assert wanted["rows-odd-cfa"] > 50
    for name, n in wanted.items():
        # The vdso has its own few, which no file tells.
        assert n <= book.get(name, 0) <= n + 10, name
    assert book["rows"] > 50000


def section_of(path, name):
    """(offset in the file, size)"""
    text = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    found = re.search(rf" {re.escape(name)} +\S+ +\S+ +(\S+) +(\S+)", text)
    return int(found.group(1), 16), int(found.group(2), 16)


def damage(path):
    at, size = section_of(path, ".eh_frame")
    with open(path, "r+b") as f:
        f.seek(at + 4)
        f.write(b"\xff" * (size - 4))


@bpf
@pytest.mark.beside
@pytest.mark.parametrize("how,reason", [("bare", "files-no-eh-frame"), ("debug", "files-debug-frame"),
                                        ("damaged", "files-bad-eh-frame"), ("whole", None)])
def test_files_without_rows_are_counted_by_reason(started, tmp_path, how, reason):
    here = tmp_path / "bin"
    here.mkdir()
    for name in ("c_maps", "lib_deep.so", "lib_wide.so"):
        shutil.copy(PROGS / name, here)
    if how in ("bare", "debug"):
        source = conftest.ROOT / "tests/prog/lib_deep.c"
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-nostartfiles", "-fno-asynchronous-unwind-tables",
                        "-Wl,--no-ld-generated-unwind-info", *(["-g"] if how == "debug" else []), "-o",
                        here / "lib_deep.so", source], check=True)
    if how == "damaged":
        damage(here / "lib_deep.so")
    trace = tmp_path / "t.alys"
    program = started.program(str(here / "c_maps")).wait_ready()
    tracer = started.tracer("-p", program.pid, "-o", trace).recording()
    program.go().truths()
    program.finish()
    assert tracer.wait() == 0, tracer.text
    book = ledger(trace).rows
    found = {name: n for name, n in book.items() if name.startswith("files-")}
    assert found == ({reason: 1} if reason else {})


def test_doctor_names_debug_frame(tmp_path):
    lib = tmp_path / "lib.so"
    subprocess.run(["gcc", "-g", "-shared", "-fPIC", "-nostartfiles", "-fno-asynchronous-unwind-tables",
                    "-Wl,--no-ld-generated-unwind-info", "-o", lib, conftest.ROOT / "tests/prog/lib_deep.c"], check=True)
    done = alys("doctor", "--unwind", lib)
    assert done.returncode != 0
    assert ".debug_frame is not read" in done.stderr
    assert str(lib) in done.stderr


# --- mappings that come and go -------------------------------------------------------------------------

def names_by_size(trace, tmp_path):
    found = {}
    for event in events_of(trace, tmp_path):
        if event["kind"] == "alloc":
            found.setdefault(event["size"], []).append([frame.get("name", "?") for frame in event["stack"]])
    return found


@bpf
def test_stacks_are_whole_while_mappings_come_and_go(started, tmp_path):
    """dlopen, dlclose, another library at the same address, fork, exec, code in no file: each stack is complete or a counted miss."""
    trace = tmp_path / "t.alys"
    program = started.program("c_maps").wait_ready()
    tracer = started.tracer("-p", program.pid, "--follow", "-o", trace).recording()
    program.go().truths()
    program.finish()
    assert tracer.wait() == 0, tracer.text
    assert program.said == ["same place"], "the second library was to lie where the first one was"
    found = names_by_size(trace, tmp_path)
    for size, stack in WHOLE.items():
        assert found[size] == [stack] * 20, size
    jit = found[1301]
    assert len(jit) == 20
    assert all(names[0].startswith("[jit]") and names[1:] == ["call", *START] for names in jit)


# --- signals, depth, fibers ----------------------------------------------------------------------------

@bpf
@pytest.mark.beside
@pytest.mark.parametrize("limit", [None, 300, 512])
def test_handlers_of_signals_and_deep_recursion(started, tmp_path, limit):
    """A signal handler's stack continues with the interrupted code; a stack that is too deep is cut and marked."""
    trace = tmp_path / "t.alys"
    program = started.program("c_depths").wait_ready()
    args = ("--backtrace-limit", limit) if limit else ()
    tracer = started.tracer("-p", program.pid, *args, "-o", trace).recording()
    program.go().truths()
    tracer.stop()
    program.finish()
    found = names_by_size(trace, tmp_path)
    for size in (1101, 1201):
        assert len(found[size]) == 20
        for names in found[size]:
            assert names[:2] == ["site_handler", "handler"] and names[-5:] == ["raise", *START], names
    assert found[1301] == [["site_deep", *["down"] * 101, *START]] * 20
    assert found[1401] == [["site_deep", *["down"] * (len(found[1401][0]) - 2), "[truncated]"]] * 20
    assert len(found[1401][0]) == (limit or 256), "without the probed function, with the word for the cut"
    assert ledger(trace).rows["stack-end-truncated"] == 1


@bpf
@pytest.mark.beside
def test_every_stack_of_a_release_server_is_whole(started, tmp_path):
    """From the fiber's first function to the allocation, without unknown frames."""
    trace = tmp_path / "t.alys"
    server = started.server()
    tracer = started.tracer("-p", server.pid, "-o", trace).recording()
    subprocess.run(["wrk", "-t1", "-c8", "-d2", server.url + "/page/7"], stdout=subprocess.DEVNULL, check=True)
    tracer.stop()
    every = broken = 0
    folded = conftest.convert(trace, "folded-stacks", tmp_path / "t.folded", "--value", "alloc_objects")
    for line in folded.read_text().splitlines():
        stack, n = line.rsplit(" ", 1)
        every += int(n)
        bottom = stack.split(";")[0]
        if "[unknown]" in stack or not (bottom in ("Fiber#run", "_start", "clone3", "__clone3")):
            broken += int(n)
    assert every > 1000
    assert broken <= every / 1000, folded.read_text()[:3000]


@bpf
@pytest.mark.beside
@pytest.mark.parametrize("how", [(), ("--sample", "bytes:16k", "--max-overhead", "0"), ("--check-stacks",)])
def test_frames_that_go_by_rbp(started, tmp_path, how):
    """From probes in the middle of malloc, free and GC_malloc, which use rbp themselves."""
    trace = tmp_path / "t.alys"
    program = started.program("c_gcframes").wait_ready()
    tracer = started.tracer("-p", program.pid, "-o", trace, *how).recording()
    time.sleep(0.5)
    tracer.stop()
    rows = assert_law(trace).rows
    assert rows["stack-end-complete"] == rows["stacks"] >= 2 and not rows.get("walks-differ")
    stacks = {tuple(frame["name"] for frame in event["stack"]) for event in events_of(trace, tmp_path)
              if event["kind"] == "alloc" or event.get("stack")} # what a collector frees has none
    assert {names[-6:] for names in stacks} == {("site_by_rbp", "of_room", *START)}


def reads_of(pid):
    return int(re.search(r"syscr: (\d+)", Path(f"/proc/{pid}/io").read_text()).group(1))


@bpf
@pytest.mark.beside
def test_stacks_through_go(started, tmp_path):
    """Goroutines call C on the thread's stack; C calls Go back on the goroutine's."""
    conftest.make(PROGS / "go_calls")
    trace = tmp_path / "t.alys"
    program = started.program("go_calls").wait_ready()
    tracer = started.tracer("-p", program.pid, "-o", trace).recording()
    truth = json.loads(program.go().line())
    tracer.stop()
    assert_go_stacks(trace, truth, tmp_path)
    assert_law(trace)


@bpf
def test_misses_do_not_make_us_read_for_ever(started, tmp_path):
    """Code in no file misses at each call: the tracer must not read the mappings again each time."""
    trace = tmp_path / "t.alys"
    program = started.program("c_maps", "jit").wait_ready()
    tracer = started.tracer("-p", program.pid, "-o", trace).recording()
    before, begun = reads_of(tracer.proc.pid), time.monotonic()
    calls = int(program.go().line())
    reads, took = reads_of(tracer.proc.pid) - before, time.monotonic() - begun
    program.truths()
    program.finish()
    assert tracer.wait() == 0, tracer.text
    assert calls >= 30000
    # 50 questions a second, and 4 looks without any, of some reads each.
    assert reads < 2000 * took
    assert ledger(trace).rows.get("stack-end-no-table", 0) <= 1
