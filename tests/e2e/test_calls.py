# SPDX-License-Identifier: Apache-2.0
"""record --calls: calls of chosen functions equal the program's own counters, and outputs divide bytes by them."""

import collections
import json
import re
import shutil
import subprocess
import time

import pytest

from conftest import ALYS, PROGS, ROOT, STRAIGHT, TIMEOUT, alys, convert, pprof

bpf = pytest.mark.bpf
pytestmark = pytest.mark.beside
SOURCES = ROOT / "tests" / "prog"


def record(trace, *args, program):
    """The program is started by alys-bpf; gives its own counts, one dictionary a line, and what alys-bpf said."""
    done = subprocess.run([ALYS, "record", "-v", "-o", trace, *args, "--", *program], env=STRAIGHT, capture_output=True, text=True,
                          timeout=TIMEOUT, cwd=trace.parent)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")], done.stderr


def rows(trace, *args):
    done = alys("report", "--by", "function", "-f", "json", "--top", "0", *args, trace)
    assert done.returncode == 0, done.stderr
    table = json.loads(done.stdout)
    return {row["function"]: row for row in table["rows"]}, table


def counted(trace, *args):
    """Calls by function, as far as they were counted."""
    found, _ = rows(trace, "--inclusive", *args)
    return {name: row["calls"] for name, row in found.items() if row["calls"] is not None}


def nonzero(calls):
    return {name: n for name, n in calls.items() if n}


C = ["grow", "recurse", "leave_by_jump", "allocate_nothing", "jump_to_grow"]


@pytest.fixture(scope="module")
def entered(tmp_path_factory):
    """One recording of c_calls: threads, recursion, longjmp, calls by jump, a child, a second program."""
    trace = tmp_path_factory.mktemp("calls") / "t.alys"
    patterns = [word for name in [*C, "loop_at_*", "grow_inlined"] for word in ("--calls", f"c_calls:{name}")]
    end = time.monotonic() + TIMEOUT
    while True:
        own, said = record(trace, "--force", "--follow", *patterns, program=[PROGS / "c_calls"])
        # While another process runs under a translator, children are traced late, and a message says so. Then it is done again.
        if "links are no longer shared" not in said or time.monotonic() > end:
            return trace, own, said


@bpf
def test_counts_are_exact_in_threads_children_and_further_programs(entered):
    trace, own, said = entered
    assert len(own) == 3
    sums = collections.Counter()
    by_process = collections.defaultdict(collections.Counter)
    for line in own:
        calls = {name: n for name, n in line["calls"].items() if name != "inlined"}
        sums.update(calls)
        by_process[line["pid"]].update(calls)
    assert counted(trace) == dict(sums), said
    for pid, calls in by_process.items():
        assert nonzero(counted(trace, "-p", pid)) == nonzero(calls)
    assert re.search(r"c_calls: calls of 5 functions are counted, \d at cheap probes", said)


@bpf
def test_each_program_of_a_process_has_its_own_counts(entered):
    trace, own, _ = entered
    lines = [json.loads(line) for line in convert(trace, "jsonl", trace.with_suffix(".jsonl")).read_text().splitlines()]
    calls = [line for line in lines if line["kind"] == "calls"]
    first, child, second = own
    told = collections.Counter((line["tgid"], line["function"], line["calls"]) for line in calls if line["calls"])
    expected = collections.Counter((line["pid"], name, n) for line in (first, child, second)
                                   for name, n in nonzero(line["calls"]).items() if name != "inlined")
    assert told == expected


@bpf
def test_bytes_per_call(entered):
    trace, own, _ = entered
    rounds = own[0]["calls"]["leave_by_jump"]
    inside, table = rows(trace, "--inclusive")
    alone, _ = rows(trace)
    assert table["show"] == "alloc"
    # Each call of recurse has ten bytes; what deeper calls allocate counts once.
    recursed = own[0]["calls"]["recurse"] + own[2]["calls"]["recurse"]
    for found in (inside, alone):
        assert found["recurse"]["bytes"] == 10 * recursed and found["recurse"]["per_call"] == 10
    assert alone["leave_by_jump"]["bytes"] == 0 and inside["leave_by_jump"]["per_call"] == 8
    assert alone["grow"]["bytes"] == 2 * rounds * (4 * 32 + 8 + 16) + 77 * 64
    assert inside["allocate_nothing"] == {"function": "allocate_nothing", "calls": 2 * rounds, "percent": 0, "bytes": 0,
                                          "per_call": 0, "count": 0}
    assert inside["main"]["calls"] is None and inside["main"]["per_call"] is None
    assert table["total"]["per_call"] is None


@bpf
def test_what_is_not_counted_is_said(entered):
    trace, _, said = entered
    _, table = rows(trace)
    assert table["inlined"] == [{"function": "grow_inlined", "copies": 1}]
    assert any("calls of inlined copies are not counted" in note and "grow_inlined (1 copy)" in note for note in table["notes"])
    assert "calls of loop_at_once in" in said and "are not counted" in said
    assert 'grow_inlined": all copies are inlined' in said


@bpf
def test_other_outputs(entered, tmp_path):
    trace, own, _ = entered
    grown = sum(line["calls"]["grow"] for line in own)
    text = alys("report", "--by", "function", trace).stdout
    assert re.match(r"FUNCTION +CALLS +% +BYTES +\[PER CALL\] +ALLOCATIONS\n", text)
    assert re.search(rf"^grow +{grown} .*\[ *[\d.]+\] ", text, re.M) and re.search(r"^grow_inlined +- ", text, re.M)
    assert re.search(rf'^"grow",{grown},', alys("report", "--by", "function", "-f", "csv", trace).stdout, re.M)
    one = json.loads(convert(trace, "json", tmp_path / "t.json").read_text())
    elements = one["calls"] if isinstance(one, dict) else [e for e in one if e["kind"] == "calls"]
    assert sum(e["calls"] for e in elements if e["function"] == "grow") == grown
    page = convert(trace, "html", tmp_path / "t.html").read_text()
    about = json.loads(re.search(r'id="about">(.*?)</script>', page, re.S)[1])
    assert dict(about["calls"])["grow"] == grown and "grow_inlined (1 copy)" in about["calls_note"]
    comments = pprof("-comments", convert(trace, "pprof", tmp_path / "t.pb.gz"))
    assert f"calls of grow: {grown}\n" in comments and "grow_inlined (1 copy)" in comments
    # A time range of a recording has bytes, but no counts of calls.
    found, table = rows(trace, "--between", "0,3600", "--show", "alloc")
    assert found["grow"]["calls"] is None and any("over the whole recording" in note for note in table["notes"])
    # Tables of callers have none either.
    callers = alys("report", "--callers", "grow", "--show", "alloc", "-f", "json", trace)
    assert {row["function"] for row in json.loads(callers.stdout)["rows"]} >= {"work", "leave_by_jump"}


@bpf
def test_cpp(tmp_path):
    trace = tmp_path / "t.alys"
    patterns = [word for name in ("Box::*", "copy<*>", "_Z4faili") for word in ("--calls", f"cpp_calls:{name}")]
    (own,), _ = record(trace, *patterns, program=[PROGS / "cpp_calls"])
    found = counted(trace)
    copies = sum(found.pop(name) for name in list(found) if " copy<" in name)
    assert {**found, "copy": copies} == own["calls"]


@bpf
@pytest.mark.parametrize("build", ["debug", "release"])
def test_crystal(tmp_path, build):
    trace = tmp_path / "t.alys"
    names = ["Pile.build", "Pile#keep", "Pile#nest", "Pile#small"]
    (own,), said = record(trace, *(word for name in names for word in ("--calls", name)), program=[PROGS / f"calls.{build}"])
    found = counted(trace)
    if build == "release":
        # It may be inlined, and all of its copies are.
        own["calls"].pop("Pile#small")
        assert '"Pile#small": all copies are inlined' in said
        assert [f["function"] for f in rows(trace)[1]["inlined"]] == ["small of any type"]
    assert found == own["calls"]
    inside, _ = rows(trace, "--inclusive")
    assert inside["Pile#keep"]["per_call"] == 41 and inside["Pile#nest"]["bytes"] == 400 * 8


@bpf
@pytest.mark.parametrize("mangling", ["legacy", "v0"])
def test_rust(tmp_path, mangling):
    flags = [] if mangling == "legacy" else ["-C", "symbol-mangling-version=v0"]
    subprocess.run(["/usr/bin/rustc", "--edition", "2021", "-O", "-g", *flags, "-o", tmp_path / "piles", SOURCES / "calls.rs"],
                   check=True, capture_output=True, timeout=TIMEOUT)
    patterns = [word for name in ("*Pile*", "*copy_of*") for word in ("--calls", f"piles:{name}")]
    (own,), _ = record(tmp_path / "t.alys", *patterns, program=[tmp_path / "piles"])
    found = collections.Counter()
    for name, n in counted(tmp_path / "t.alys").items():
        found.update({next((known for known in own["calls"] if known in name), name): n})
    assert {name: n for name, n in found.items() if "drop_in_place" not in name} == own["calls"]


# First instructions of functions: none that can be emulated, a landing pad, padding for patches, far calls.
@bpf
@pytest.mark.parametrize("compiler", [
    "gcc -O0 -fcf-protection=full", "gcc -O2 -static -fpatchable-function-entry=5", "gcc -O2 -mcmodel=large -no-pie -fno-pie", "clang-14 -O1 -fno-inline"])
def test_compilers(tmp_path, compiler):
    subprocess.run([*compiler.split(), "-g", "-D_GNU_SOURCE", "-pthread", "-o", tmp_path / "c_calls", SOURCES / "c_calls.c"],
                   check=True, capture_output=True, timeout=TIMEOUT)
    patterns = [word for name in C for word in ("--calls", f"c_calls:{name}")]
    (own,), said = record(tmp_path / "t.alys", *patterns, program=[tmp_path / "c_calls", "again"])
    del own["calls"]["inlined"]
    assert counted(tmp_path / "t.alys") == own["calls"], said


@bpf
def test_a_library_loaded_while_recording(started, tmp_path):
    program = started.program("c_dlopen").wait_ready()
    tracer = started.tracer("-p", program.pid, "-o", tmp_path / "t.alys", "--calls", "lib_plugin.so:site_*", "--calls", "site_main").recording()
    sites = program.go().truths()[0]["sites"]
    tracer.stop()
    assert program.finish() == 0
    found = counted(tmp_path / "t.alys")
    assert found["site_main"] == sites["site_main"]["allocs"]
    # The program runs on while the library is examined, so early calls and their allocations may be missing.
    assert 0 <= found.get("site_plugin", 0) <= sites["site_plugin"]["allocs"]


@bpf
def test_a_library_loaded_by_a_program_started_here(tmp_path):
    trace = tmp_path / "t.alys"
    (own,), _ = record(trace, "--calls", "site_*", program=[PROGS / "c_dlopen"])
    truth, found = {name: site["allocs"] for name, site in own["sites"].items()}, counted(trace)
    assert found["site_main"] == truth["site_main"]
    # It was stopped while the library was examined. If the machine was too busy for that, a message says so.
    if " not-held " not in alys("info", trace).stdout:
        assert found == truth


def until(met, *args):
    end = time.monotonic() + TIMEOUT
    while not met(*args):
        assert time.monotonic() < end, "never"
        time.sleep(0.1)


def calls_so_far(trace):
    """A trace that is being written has no names yet."""
    done = alys("report", "--by", "function", "-f", "json", "--symbolize", PROGS / "c_calls", trace)
    if done.returncode:
        return 0
    return next((row["calls"] or 0 for row in json.loads(done.stdout)["rows"] if row["function"] == "grow"), 0)


@bpf
def test_counts_survive_the_end_of_the_tracer(started, tmp_path):
    trace = tmp_path / "t.alys"
    program = started.program("c_calls", "turns", "1000").wait_ready()
    tracer = started.tracer("-p", program.pid, "-o", trace, "--calls", "grow").recording()
    program.go()
    assert program.truths()[0]["calls"]["grow"] == 1000
    until(lambda: calls_so_far(trace) == 1000)
    tracer.kill()
    assert calls_so_far(trace) == 1000
    assert "functions have no names yet" in alys("report", "--by", "function", trace).stdout
    # Its probes are gone (the fixture checks that), and the program goes on.
    program.go()
    assert program.truths()[0]["calls"]["grow"] == 2000
    assert program.finish() == 0


@bpf
def test_samples_have_an_error_per_call(started, tmp_path):
    trace = tmp_path / "t.alys"
    program = started.program("c_calls", "turns", "20000").wait_ready()
    tracer = started.tracer("-p", program.pid, "-o", trace, "-s", "bytes:1k", "--calls", "grow").recording()
    assert program.go().truths()[0]["calls"]["grow"] == 20000
    tracer.stop()
    row = rows(trace)[0]["grow"]
    assert row["calls"] == 20000
    assert row["per_call_error"] > 0 and row["per_call"] == pytest.approx(row["bytes"] / 20000, abs=0.01)
    assert abs(row["per_call"] - 32) < 6 * row["per_call_error"]


# --- what is wrong is said in one sentence ---------------------------------------------------------

@pytest.fixture
def waiting(started):
    return started.program("c_calls", "turns", "1").wait_ready()


def refused(waiting, tmp_path, *args):
    done = alys("record", "-p", waiting.pid, "-o", tmp_path / "t.alys", *args)
    assert done.returncode and not (tmp_path / "t.alys").exists()
    (line,) = done.stderr.strip().splitlines()
    return line


@bpf
def test_patterns_that_cannot_be_served(waiting, tmp_path):
    assert re.search(r'--calls "grown": no function of that name in \S+c_calls and the other mapped files', refused(waiting, tmp_path, "--calls", "grown"))
    many = refused(waiting, tmp_path, "--calls", "libc.so.6:*")
    n = re.search(r"--calls: (\d+) functions match, more than 64: narrow the patterns, or give --calls-limit \1$", many)
    assert n and int(n[1]) > 1000
    few = refused(waiting, tmp_path, "--calls", "c_calls:*re*", "--calls-limit", "1")
    assert re.search(r"--calls: \d functions match, more than 1: ", few)


@bpf
def test_a_stripped_file(started, tmp_path):
    shutil.copy(PROGS / "c_calls", tmp_path / "bare")
    subprocess.run(["strip", tmp_path / "bare"], check=True)
    program = started.program(str(tmp_path / "bare"), "turns", "1").wait_ready()
    said = refused(program, tmp_path, "--calls", "bare:grow")
    assert re.search(r'--calls "bare:grow": no function of that name: \S+/bare is stripped, so only its exported functions have names', said)


def test_options_that_do_not_fit(tmp_path):
    for words, said in [(["--calls", ""], "--calls wants the name of a function"),
                        (["--calls", ":grow"], "--calls wants the name of a function"),
                        (["--calls", "f", "--rss"], "--rss records pages"),
                        (["--calls", "f", "-b", "none"], "--calls needs the names of functions"),
                        (["--calls", "f", "--calls-limit", "0"], "--calls-limit wants a number of functions"),
                        ([w for i in range(65) for w in ("--calls", f"f{i}")], "more than 64 patterns")]:
        done = alys("record", "-p", "1", "-o", tmp_path / "t.alys", *words)
        assert done.returncode and said in done.stderr and len(done.stderr.strip().splitlines()) == 1, done.stderr
