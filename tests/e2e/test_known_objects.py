# SPDX-License-Identifier: Apache-2.0
"""Objects that a recording did not see allocated: older ones, those of functions without probes, and those from free lists in other code."""

import collections
import json
import re
import subprocess
import time

import pytest

import conftest
import pprof_rules
from collected import SOURCES, liveness_of, record
from conftest import ALYS, PROGS, STRAIGHT, TIMEOUT, alys, convert, pprof

pytestmark = [pytest.mark.bpf, pytest.mark.beside]


def known_truth(started, trace, program):
    """Attaches to a running program; what the program prints, and what `info` says."""
    p = started.program(program).wait_ready()
    tracer = started.tracer("-p", p.pid, "-o", trace).recording()
    truth = p.go().truths()[0]
    time.sleep(0.3)
    tracer.stop()
    assert p.finish() == 0
    return truth["sites"], conftest.ledger(trace).rows, liveness_of(trace)


def test_what_was_there_before_is_told_apart(started, tmp_path):
    """Objects from before the recording are not taken for unprobed allocation functions."""
    _, rows, said = known_truth(started, tmp_path / "t.alys", "alive.staticgc")
    assert rows["marked-older"] > 10 and "marked-unknown" not in rows
    assert "not known" not in said
    table = alys("report", tmp_path / "t.alys").stdout
    assert before_in(table) == (rows["marked-older"], rows["marked-older-bytes"])


BEFORE = r"^\[before the recording\] (\S+) objects, (\S+) bytes, from the collector's marks at its last collection, without stacks"


def before_in(table):
    said = re.search(BEFORE, table, re.M)
    return said and tuple(int(n.replace(",", "")) for n in said.groups())


def attached_before(started, *options, collections=3):
    """Of 3000 objects from before the attach 1000 are dropped, 100 are new."""
    p = started.program("c_gcbefore", "3000", "1000", collections).wait_ready()
    tracer = started.tracer("-p", p.pid, *options).recording()
    p.go().truths()
    time.sleep(0.3)
    tracer.stop()
    assert p.finish() == 0


def is_the_rest(told):
    """One or two may look like the collector's own, or be referred to by an old part of a stack."""
    count, size = told
    return abs(count - 2000) <= 3 and abs(size - 1000 * (64 + 128)) < 4096


def test_objects_from_before_the_recording(started, tmp_path):
    """They have a line of their own in every table of live memory, and in no other."""
    trace = tmp_path / "t.alys"
    attached_before(started, "-o", trace)
    table, notes = alys("report", trace).stdout.split("\n\n")
    assert is_the_rest(before_in(notes)), notes
    assert re.search(r"^ +100 +4,000 +100.00% +\[total\]", table, re.M), table
    assert before_in(alys("report", "--show", "live", "--by", "type", trace).stdout) == before_in(notes)
    assert before_in(convert(trace, "text", tmp_path / "t.txt").read_text()) == before_in(notes)
    told = json.loads(alys("report", "-f", "json", trace).stdout)["before"]
    assert (told["count"], told["bytes"], told["heaps_not_counted"]) == (*before_in(notes), 0)
    for other in (["--show", "alloc"], ["--focus", "site_after"], ["--between", "0,100"]):
        assert "before the recording" not in alys("report", *other, trace).stdout, other


ROW = r"^ +(\S+) +(\S+)  \[before the recording\] (?!\d+ more types)(.*)$"


def rows_in(table):
    return {name: (int(n.replace(",", "")), int(size.replace(",", ""))) for n, size, name in re.findall(ROW, table, re.M)}


def in_use_of(profile, index):
    """A profile's bytes in use: {innermost function: bytes}, and the sum."""
    text = pprof("-top", "-unit=b", "-nodecount=0", "-nodefraction=0", f"-sample_index={index}", profile)
    rows = re.findall(r"^ *(\d+)[bB]? +\S+% +\S+% +\S+ +\S+% +(.*)$", text, re.M)
    return {name: int(n) for n, name in rows if n != "0"}


def check_rows(trace, tmp_path):
    """All outputs have the same rows and the same sum."""
    told = json.loads(alys("report", "-f", "json", trace).stdout)["before"]
    rows = {row["type"]: (row["count"], row["bytes"]) for row in told["types"]}
    assert (told["count"], told["bytes"]) == tuple(map(sum, zip(*rows.values())))
    largest = dict(sorted(rows.items(), key=lambda row: (-row[1][1], row[0]))[:5])
    for text in (alys("report", trace).stdout, convert(trace, "text", tmp_path / "rows.txt").read_text(), alys("info", trace).stdout):
        assert rows_in(text) == largest
    profile = convert(trace, "pprof", tmp_path / "rows.pb.gz")
    for at, index in enumerate(("inuse_objects", "inuse_space")):
        in_use = in_use_of(profile, index)
        for name, row in rows.items():
            assert in_use[f"[before the recording] {name}"] == row[at], (index, in_use)
    assert not any("before" in name for name in in_use_of(profile, "alloc_space"))
    return rows


def test_objects_from_before_by_size(started, tmp_path):
    """A C program's objects have no types, so rows are by size; half of them hold pointers."""
    attached_before(started, "-o", tmp_path / "t.alys")
    rows = check_rows(tmp_path / "t.alys", tmp_path)
    plain = sum(n for name, (n, _) in rows.items() if name.endswith(" without pointers"))
    assert abs(plain - 1000) <= 3 and rows["64 bytes"][0] > 800, rows


def test_objects_from_before_by_type(started, tmp_path):
    """Crystal's objects have types: the rows are those of a census taken before, and no class is shown as a number."""
    trace = tmp_path / "t.alys"
    known_truth(started, trace, "alive.staticgc")
    rows = check_rows(trace, tmp_path)
    assert {"String", "(buffer)"} <= set(rows) and any(name.startswith("(class ") for name in rows), rows


def test_objects_from_before_by_process(started, tmp_path):
    """They have the labels of the process that has them."""
    trace = tmp_path / "t.alys"
    programs = [started.program("c_gcbefore", n, n // 3, 3).wait_ready() for n in (3000, 600)]
    tracer = started.tracer("-p", ",".join(str(p.pid) for p in programs), "--label", "team=pay", "-o", trace).recording()
    for p in programs:
        p.go().truths()
    time.sleep(0.3)
    tracer.stop()
    profile = pprof_rules.Profile(convert(trace, "pprof", tmp_path / "t.pb.gz").read_bytes())
    names = {f.one(1): profile.strings[f.one(2)] for f in profile.functions}
    before = {loc.one(1) for loc in profile.locations if names[loc.messages(4)[0].one(1)].startswith("[before the recording]")}
    found = collections.Counter()
    for s in profile.samples:
        labels = {profile.strings[label.one(1)]: profile.strings[label.one(2)] or label.one(3) for label in s.messages(3)}
        assert labels["team"] == "pay" and labels["exe"].endswith("/c_gcbefore"), labels
        if list(s.numbers(1))[0] in before:
            found[labels["pid"]] += list(s.numbers(2))[2]
    assert all(abs(found[p.pid] - left) <= 3 for p, left in zip(programs, (2000, 400))), found
    assert [p.finish() for p in programs] == [0, 0]


ZEROS = r"""
#include <gc.h>
#include <stdio.h>
#include <time.h>
#include <string.h>
static void *volatile kept[500], *volatile newer[100];
int main(void)
{
	GC_INIT();
	for (int i = 0; i < 500; i++)
		kept[i] = (GC_malloc)(48);
	puts("ready");
	fflush(stdout);
	getchar();
	for (int i = 0; i < 100; i++)
		newer[i] = memset((GC_malloc)(100), 1, 100);
	for (int i = 0; i < 5; i++) {
		GC_gcollect();
		nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	}
	puts("{}");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
"""


def test_zeros_from_before_are_counted(started, tmp_path):
    """Objects that were never written to look like free ones; their number is stated."""
    trace, source = tmp_path / "t.alys", tmp_path / "zeros.c"
    source.write_text(ZEROS)
    subprocess.run(["gcc", "-O1", "-o", tmp_path / "zeros", source, "-lgc"], check=True)
    p = started.program(tmp_path / "zeros").wait_ready()
    tracer = started.tracer("-p", p.pid, "--stop-at-gc", "-o", trace).recording()
    p.go().truths()
    tracer.stop()
    p.finish()
    rows = conftest.ledger(trace).rows
    told = json.loads(alys("report", "-f", "json", trace).stdout)["before"]
    assert (told["maybe_free_count"], told["maybe_free_bytes"]) == (rows["marked-older-empty"], rows["marked-older-empty-bytes"])
    assert 490 <= rows["marked-older-empty"] <= rows["marked-empty"] < 520
    said = re.search(r"^\[before the recording\] (\d+) more objects, \S+ bytes, of nothing but zeros", alys("report", trace).stdout, re.M)
    assert int(said[1]) == rows["marked-older-empty"]


def test_objects_from_before_in_tables_of_what_runs(started, tmp_path):
    attached_before(started, "-f", "text", "-o", tmp_path / "t.txt")
    assert is_the_rest(before_in((tmp_path / "t.txt").read_text()))
    p = started.program("c_gcbefore", "3000", "1000", 100).wait_ready()
    watching = subprocess.Popen([str(ALYS), "report", "-v", "-p", str(p.pid), "-d", "1", "--live"], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
    try:
        while "recording " not in watching.stderr.readline():
            assert watching.poll() is None
        p.go()
        out, said = watching.communicate(timeout=TIMEOUT)
    finally:
        watching.kill()
    assert is_the_rest(before_in(out)), out + said


def test_objects_from_before_fork_are_not_from_before_the_recording(tmp_path):
    trace = tmp_path / "t.alys"
    done = alys("-q", "--follow", "-o", trace, "--", PROGS / "c_gcbefore", "3000", "0", "3", "fork", env=STRAIGHT)
    assert done.returncode == 0, done.stderr
    rows = conftest.ledger(trace).rows
    assert abs(rows["marked-inherited"] - 3100) <= 3 and abs(rows["marked-inherited-bytes"] - (1500 * 192 + 100 * 48)) < 4096
    assert "marked-older" not in rows and "heaps-not-compared" not in rows
    assert "before the recording" not in alys("report", trace).stdout


@pytest.mark.parametrize("options, collections, why", [
    ([], 0, "no collection was compared with the records\n"),
    (["--sample", "bytes:64"], 3, "no collection was compared with the records, which takes a recording of all\n"),
], ids=["no collection", "samples"])
def test_objects_from_before_that_nobody_counted(options, collections, why, started, tmp_path):
    attached_before(started, "-o", tmp_path / "t.alys", *options, collections=collections)
    table = alys("report", tmp_path / "t.alys").stdout
    assert "[before the recording] not counted in 1 collected heap: " + why in table
    assert before_in(table) is None


def hidden_doors(folder, names):
    """c_gcentries with a static collector, some functions of which have no symbol, so that their calls are not seen."""
    built = folder / "doors"
    subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-g", "-fomit-frame-pointer", f"-I{SOURCES}", "-o", built,
                    SOURCES / "c_gcentries.c", "-l:libgc.a", "-lpthread", "-ldl"], check=True)
    subprocess.run(["objcopy", *(f"--strip-symbol={name}" for name in names), built], check=True)
    return built


@pytest.mark.parametrize("hidden, room", [([], "0"), (["GC_generic_malloc_many", "GC_gcj_malloc"], "0"),
                                          (["GC_generic_malloc_many", "GC_gcj_malloc"], "200000000")], ids=["none", "lists", "late"])
def test_unseen_doors_are_told(hidden, room, tmp_path):
    """The collector's marks are compared with the recorded objects: a recording says "exact" only if they agree. With enough room, one comparison decides."""
    trace = tmp_path / "t.alys"
    done = alys("-q", "--stop-at-gc", "-o", trace, "--", hidden_doors(tmp_path, hidden), "10",
                env={**STRAIGHT, "GC_INITIAL_HEAP_SIZE": room})
    assert done.returncode == 0, done.stderr
    sites = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))["sites"]
    rows, said = conftest.ledger(trace).rows, liveness_of(trace)
    if not hidden:
        assert said == "exact" and "marked-unknown" not in rows
        return
    unseen = sum(sites[name]["live"] for name in ("site_inlined", "site_macro", "site_many", "site_gcj"))
    assert abs(rows["marked-unknown"] - unseen) < 600  # what was left on their lists
    told = re.search(r"of what the last collection marked, (\d+) objects, \S+ \S+ of \S+ \S+ \((\S+) %\), are not known to the recording", said)
    assert told and int(told[1]) == rows["marked-unknown"] and float(told[2]) > 10, said


ONE = r"""
#include <gc.h>
#include <gc/gc_gcj.h>
#include <string.h>
static void *volatile kept[20000];
static struct { size_t words[2]; } table;
int main(void)
{
	GC_INIT();
	GC_init_gcj_malloc(0, NULL);
	void *one = (GC_gcj_malloc)(64, &table);
	kept[0] = memset((char *)one + 8, 0x11, 56);
	for (int i = 1; i < 20000; i++)
		kept[i] = memset((GC_malloc)(48), 0x11, 48);
	for (int i = 0; i < 5; i++)
		GC_gcollect();
	return 0;
}
"""


@pytest.mark.parametrize("hidden", [[], ["GC_gcj_malloc"]], ids=["seen", "unseen"])
def test_one_object_that_no_record_tells_of(hidden, tmp_path):
    """One unknown object is enough not to be "exact"."""
    trace, source = tmp_path / "t.alys", tmp_path / "one.c"
    source.write_text(ONE)
    subprocess.run(["gcc", "-O1", "-o", tmp_path / "one", source, "-l:libgc.a", "-lpthread", "-ldl"], check=True)
    subprocess.run(["objcopy", *(f"--strip-symbol={name}" for name in hidden), tmp_path / "one"], check=True)
    done = alys("-q", "--stop-at-gc", "-o", trace, "--", tmp_path / "one", env=STRAIGHT)
    assert done.returncode == 0, done.stderr
    rows = conftest.ledger(trace).rows
    if not hidden:
        assert liveness_of(trace) == "exact" and "marked-unknown" not in rows
        return
    assert rows["marked-unknown"] == 1, rows
    assert "of what the last collection marked, 1 objects, " in liveness_of(trace)


@pytest.mark.parametrize("attached", [False, True], ids=["started", "attached"])
def test_tables_that_the_collector_outgrew(attached, started, tmp_path):
    """The collector's outgrown tables stay its own as long as something refers to them, whatever they contain."""
    trace = tmp_path / "t.alys"
    if attached:
        p = started.program("c_gctables", "6").wait_ready()
        tracer = started.tracer("-p", p.pid, "--stop-at-gc", "-o", trace).recording()
        said = p.go().truths()[0]
        tracer.stop()
        assert p.finish() == 0
    else:
        done = alys("-q", "--stop-at-gc", "-o", trace, "--", PROGS / "c_gctables", "6", env=STRAIGHT)
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout)
    assert said["large"] >= 8
    assert liveness_of(trace) == "exact" and "marked-unknown" not in conftest.ledger(trace).rows


CONSES = """(define keep (let loop ((i 0) (l '())) (if (= i 300000) l (loop (+ i 1) (cons i l)))))
(gc) (gc) (display (length keep)) (newline)"""


def test_pairs_of_guile(tmp_path):
    """guile takes pairs from its own free lists; only their refills are calls."""
    trace, source = tmp_path / "t.alys", tmp_path / "conses.scm"
    source.write_text(CONSES)
    done = alys("-q", "--stop-at-gc", "-o", trace, "--", "guile-3.0", "--no-auto-compile", source)
    assert done.returncode == 0 and done.stdout.endswith("300000\n"), done
    book = conftest.assert_law(trace)
    assert book.rows["batched"] > 300000 > book.rows["batches"] > 300000 / 256
    pairs = collections.Counter(e["size"] for e in conftest.events_of(trace, tmp_path) if e["kind"] == "alloc")
    assert pairs[16] > 300000
    assert liveness_of(trace) == "exact"


GAP = r"^not sampled +objects from free lists that (\S+) takes from libgc itself; --sample-at call samples them; (.*)$"
AT_MOST = (r"at most (\S+) objects?, (\S+) bytes of them, for that is what the last collection whose marks were all read had marked, "
           r"sampled or not(?: \((\d+) collections? since\))?")
SAMPLED = "exact for what was sampled"


def sampled(trace, *command, options=()):
    done = alys("-q", "--stop-at-gc", "--sample", "bytes:4k", "-o", trace, *options, "--", *command, env=STRAIGHT)
    assert done.returncode == 0, done.stderr
    info = alys("info", trace).stdout
    taker = re.search(GAP, info, re.M)
    table = alys("report", trace).stdout
    assert ("not sampled: objects" in table) == (taker is not None) and "before the recording" not in table
    assert (taker is None) == ("not_sampled" not in json.loads(alys("report", "-f", "json", trace).stdout))
    return info, taker and taker[1]


def at_most(info):
    """The stated bound of what is not sampled: (objects, bytes); None: no bound."""
    said = re.search(GAP, info, re.M)[2]
    found = re.fullmatch(AT_MOST, said)
    assert found or said == "how many is not known, the marks of no collection were all read", said
    return found and tuple(int((n or "0").replace(",", "")) for n in found.groups())


def pairs_in_use(info):
    """The estimated bytes in pairs."""
    amount, unit = re.search(r"^in use .* blocks, (\S+) (\S+) \+-", info, re.M).groups()
    return float(amount) * {"B": 1, "KiB": 1024, "MiB": 1 << 20}[unit]


def test_samples_of_refills_do_not_see_lists_of_others(tmp_path):
    """`info` says so for files that take lists themselves, with a bound and a remedy; the remedy works."""
    source = tmp_path / "conses.scm"
    source.write_text(CONSES + "(do ((i 0 (+ i 1))) ((= i 40)) (gc) (usleep 50000)) (display (length keep))")
    guile = "guile-3.0", "--no-auto-compile", source
    info, taker = sampled(tmp_path / "refill.alys", *guile)
    assert "libguile" in taker and liveness_of(tmp_path / "refill.alys") == SAMPLED
    assert pairs_in_use(info) < 300000 * 16
    objects, size, since = at_most(info)
    assert 300000 < objects < 1000000 and 300000 * 16 < size < 64 << 20
    told = json.loads(alys("report", "-f", "json", tmp_path / "refill.alys").stdout)["not_sampled"]
    assert told == {"count_at_most": objects, "bytes_at_most": size, "collections_since": since, "heaps_not_counted": 0}
    rows = conftest.ledger(tmp_path / "refill.alys").rows
    assert (rows["marked-all"], rows["marked-all-bytes"]) == (objects, size)
    info, taker = sampled(tmp_path / "call.alys", *guile, options=["--sample-at", "call"])
    assert taker is None and liveness_of(tmp_path / "call.alys") == SAMPLED
    assert pairs_in_use(info) > 300000 * 16 * 0.8


@pytest.mark.parametrize("libs", [["-lgc"], ["-l:libgc.a"]], ids=["shared", "static"])
def test_files_that_take_lists(libs, tmp_path):
    """Found by their imports, or by calls within a statically linked program."""
    for program, takes in (("c_gcentries", True), ("c_gcfixed", False)):
        built = tmp_path / program
        subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-g", f"-I{SOURCES}", "-o", built, SOURCES / f"{program}.c",
                        *libs, "-lpthread", "-ldl"], check=True)
        info, taker = sampled(tmp_path / f"{program}.alys", built)
        assert re.search(r"^sampled at +refill", info, re.M), info
        assert (taker is not None and taker.endswith(program)) if takes else taker is None, info
        assert not takes or at_most(info) is None or at_most(info)[0] > 0
        assert liveness_of(tmp_path / f"{program}.alys") in (None, SAMPLED)


def test_exact_of_what_is_large_enough(tmp_path):
    """With --min-size a recording has only some objects, so marks are not compared with it."""
    record(tmp_path / "t.alys", "c_gclive", options=["--stop-at-gc", "--min-size", "100"])
    assert liveness_of(tmp_path / "t.alys") == "exact for what was recorded"
    assert "what the garbage collector freed of what was recorded is recorded" in alys("report", tmp_path / "t.alys").stdout


# The collector asks for its settings while it sets itself up: whoever looks meanwhile sees a heap without blocks.
SLOW_START = r"""
#include <gc.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
extern char **environ;
char *getenv(const char *name)
{
	if (!strncmp(name, "GC_", 3))
		nanosleep(&(struct timespec){ .tv_nsec = 60000000 }, NULL);
	for (char **e = environ; *e; e++) {
		if (!strncmp(*e, name, strlen(name)) && (*e)[strlen(name)] == '=')
			return *e + strlen(name) + 1;
	}
	return NULL;
}
static void *volatile kept[1000];
int main(void)
{
	GC_INIT();
	nanosleep(&(struct timespec){ .tv_nsec = 500000000 }, NULL);
	for (int i = 0; i < 200000; i++)
		kept[i % 1000] = (GC_malloc)(64);
	for (int i = 0; i < 5; i++) {
		GC_gcollect();
		nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
	}
	return 0;
}
"""


def test_a_collector_that_is_just_setting_itself_up(tmp_path):
    """A collector inspected before its initialization shows no known layout: this must not be final."""
    trace, source = tmp_path / "t.alys", tmp_path / "slow.c"
    source.write_text(SLOW_START)
    subprocess.run(["gcc", "-O1", "-o", tmp_path / "slow", source, "-lgc"], check=True)
    done = alys("-q", "--stop-at-gc", "-o", trace, "--", tmp_path / "slow", env=STRAIGHT)
    assert done.returncode == 0, done.stderr
    assert liveness_of(trace) == "exact"
