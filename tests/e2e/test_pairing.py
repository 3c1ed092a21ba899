# SPDX-License-Identifier: Apache-2.0
"""Pairing of entries and exits: each call counts once on every path through an allocator; calls without an exit are named."""

import json
import math
import re
import shutil
import subprocess

import pytest

from conftest import PROGS, alys, assert_law, events_of, site_of

pytestmark = [pytest.mark.bpf, pytest.mark.beside]

LIBRARIES = "/usr/lib/x86_64-linux-gnu"
ALLOCATORS = {
    "glibc": ("c_entries", None),
    "jemalloc": ("c_entries", "libjemalloc.so.2"),
    "tcmalloc": ("c_entries", "libtcmalloc_minimal.so.4"),
    "mimalloc": ("c_entries", "libmimalloc.so.2.0"),
    "musl": ("c_entries_musl", None),
    "libgc": ("c_entries_gc", None),
}
# Of blocks, not of refills: what is asked for is what is counted.
AT_CALL = {"libgc": ("--sample-at", "call")}
# Processes of each recording: their errors add up.
RUNS, RATES = 7, (1024, 8192, 65536)
SIZE, OTHERS = 192, {"site_inner": 16, "site_pvalloc": 4096}
# In standard errors: of 150 entries one is beyond four of them once in a hundred suites.
FAR = 4


def run_each(started, trace, runs, program, *words, preload=None, args=()):
    """One recording of several processes, which wait until their allocator is probed. Returns their truths."""
    env = {"LD_PRELOAD": preload if preload.startswith("/") else f"{LIBRARIES}/{preload}"} if preload else {}
    targets = [started.program(program, *words, env=env).wait_ready() for _ in range(runs)]
    tracer = started.tracer("--force", "-p", ",".join(str(t.pid) for t in targets), "-o", trace, *args).recording()
    for target in targets:
        target.go()
    truths = [target.truths()[0] for target in targets]
    tracer.stop()
    for target in targets:
        target.kill()
    return truths


def run(started, trace, program, *words, **how):
    return run_each(started, trace, 1, program, *words, **how)[0]


def run_some(started, trace, program, **how):
    """{site: (calls, bytes requested)} of RUNS processes in one recording."""
    sums = {}
    for truth in run_each(started, trace, RUNS, program, **how):
        for site, t in truth["sites"].items():
            sums[site] = tuple(map(sum, zip(sums.get(site, (0, 0)), asked(t))))
    return sums


def asked(site):
    return site["allocs"] + site["reallocs"], site["bytes"] + site["realloc_bytes"]


def estimates(trace):
    done = alys("report", "--show", "alloc", "-f", "json", trace)
    if "none sampled: below" in done.stderr:  # of little at a large interval that is as it may be
        return {}
    assert done.returncode == 0, done.stderr
    return {row["site"].split()[0]: row["bytes"] for row in json.loads(done.stdout)["rows"]}


def variance(calls, size, interval):
    """Variance of an estimate: a block is sampled with p = 1 - exp(-size / interval), and then stands for size / p bytes."""
    p = -math.expm1(-size / interval)
    return calls * size * size * (1 - p) / p


@pytest.mark.heavy
@pytest.mark.parametrize("name", ALLOCATORS)
def test_every_entry_sampled(started, tmp_path, name):
    """Calls that one entry function makes to another count once: many runs at several rates against the truth."""
    program, preload = ALLOCATORS[name]
    sums, trace = {}, tmp_path / "t.alys"
    for interval in RATES:
        truth = run_some(started, trace, program, preload=preload, args=("-s", f"bytes:{interval}", *AT_CALL.get(name, ())))
        told = estimates(trace)
        for site, (calls, exact) in truth.items():
            error, spread = sums.get(site, (0, 0))
            spread += variance(calls, OTHERS.get(site, SIZE), interval)
            sums[site] = error + told.pop(site, 0) - exact, spread
        assert not [site for site in told if site.startswith("site_")]
    scores = {site: error / math.sqrt(spread) for site, (error, spread) in sums.items() if spread}
    assert len(scores) >= 11
    far = {site: round(z, 1) for site, z in scores.items() if abs(z) > FAR}
    assert not far, (far, scores)


# Where libgc's lists are filled, a block counts as large as its class; what has no lists is seen at the call.
FROM_LISTS = {"site_inner": 32, "site_GC_memalign_large": 448, "site_GC_posix_memalign": 256, **dict.fromkeys(
    (f"site_GC_{name}" for name in ("malloc", "malloc_atomic", "malloc_kind", "malloc_kind_atomic", "realloc_null", "realloc_grow",
                                    "memalign_small", "strdup", "strndup")), 208)}
AT_THE_CALL = {"site_GC_malloc_kind_global": 208, "site_GC_malloc_kind_global_atomic": 208}
PAGE = 4096


def test_every_refill_sampled(started, tmp_path):
    sums, trace = {}, tmp_path / "t.alys"
    for interval in (4096, 16384, 65536):
        truth = run_some(started, trace, "c_entries_gc", args=("-s", f"bytes:{interval}", "--sample-at", "refill"))
        told = estimates(trace)
        for site, (calls, _) in truth.items():
            if site.startswith("site_turns"):
                continue # of both kinds
            size = FROM_LISTS.get(site) or AT_THE_CALL.get(site) or SIZE
            error, spread = sums.get(site, (0, 0))
            spread += variance(calls * size / PAGE, PAGE, interval) if site in FROM_LISTS else variance(calls, size, interval)
            sums[site] = error + told.get(site, 0) - calls * size, spread
    scores = {site: error / math.sqrt(spread) for site, (error, spread) in sums.items()}
    assert len(scores) >= 20
    far = {site: round(z, 1) for site, z in scores.items() if abs(z) > FAR}
    assert not far, (far, scores)


@pytest.mark.parametrize("name", ALLOCATORS)
def test_every_entry_exact(started, tmp_path, name):
    program, preload = ALLOCATORS[name]
    trace = tmp_path / "t.alys"
    truth = run(started, trace, program, "300", preload=preload)["sites"]
    seen = {}
    for event in events_of(trace, tmp_path):
        if event["kind"] in ("alloc", "realloc") and site_of(event) in truth:
            calls, size = seen.get(site_of(event), (0, 0))
            seen[site_of(event)] = calls + 1, size + event["size"]
    assert seen == {site: asked(t) for site, t in truth.items() if asked(t)[0]}
    assert_law(trace)


THROWING = ["libjemalloc.so.2", "libtcmalloc_minimal.so.4"]


@pytest.mark.parametrize("library", THROWING)
def test_requests_that_throw_sampled(started, tmp_path, library):
    """All these calls are sampled and none returns: no later return may be paired with them."""
    error = 0
    for i in range(3):
        trace = tmp_path / f"{i}.alys"
        exact = run_some(started, trace, "cpp_throws", preload=library, args=("-s", "bytes:4k"))["site_new"][1]
        error += estimates(trace)["site_new(unsigned"] - exact
        sizes = {}
        for event in (e for e in events_of(trace, tmp_path) if e["kind"] == "alloc"):
            sizes.setdefault(event["tgid"], []).append(event["size"])
        assert len(sizes) == RUNS and max(map(max, sizes.values())) < 1 << 20
        assert_law(trace)
    score = error / math.sqrt(3 * RUNS * variance(2000, 100, 4096))
    assert abs(score) <= FAR, score


@pytest.mark.parametrize("library", THROWING)
def test_requests_that_throw_exact(started, tmp_path, library):
    """The requests have failed. Exceptions are allocated and freed below operator new, and count."""
    trace = tmp_path / "t.alys"
    truth = run(started, trace, "cpp_throws", preload=library)["sites"]["site_new"]
    events = list(events_of(trace, tmp_path))
    assert sum(e["kind"] == "alloc" and (site_of(e) or "").startswith("site_new") and e["size"] == 100
               for e in events) == truth["allocs"] == 2000
    others = [e for e in events if e["size"] != 100]
    thrown = [e for e in others if e["kind"] == "alloc" and e["size"] > 100]
    assert len(thrown) == 100, others
    freed = {e["addr"] for e in events if e["kind"] == "free"}
    assert {e["addr"] for e in thrown} <= freed
    book = assert_law(trace)
    # The last one may be the one that the process is in.
    assert 99 <= book.rows["failed"] <= 100 and book.rows["failed"] + book.rows.get("in-flight", 0) == 100


# site -> its blocks' size; what the handler asks for is asked for below operator new.
HANDLED = {"site_new": 100, "site_handler": 144, "site_handler_malloc": 176}
WITH_HANDLER = pytest.mark.parametrize("library", [None, *THROWING])


@WITH_HANDLER
def test_a_handler_that_allocates_and_gives_up(started, tmp_path, library):
    trace = tmp_path / "t.alys"
    truth = run(started, trace, "cpp_handler", preload=library)["sites"]
    assert [truth[site]["allocs"] for site in HANDLED] == [2000, 300, 300]
    seen = {}
    for event in events_of(trace, tmp_path):
        site = (site_of(event) or "").split("(")[0]
        if event["kind"] == "alloc" and site in HANDLED and event["size"] == HANDLED[site]:
            seen[site] = seen.get(site, 0) + 1
    assert seen == {site: truth[site]["allocs"] for site in HANDLED}
    book = assert_law(trace)
    assert book.rows.get("failed", 0) + book.rows.get("in-flight", 0) >= 100, book.rows


@WITH_HANDLER
def test_a_handler_that_allocates_and_gives_up_sampled(started, tmp_path, library):
    sums, trace = {}, tmp_path / "t.alys"
    for interval in RATES:
        truth = run_some(started, trace, "cpp_handler", preload=library, args=("-s", f"bytes:{interval}"))
        told = {site.split("(")[0]: size for site, size in estimates(trace).items()}
        for site, size in HANDLED.items():
            error, spread = sums.get(site, (0, 0))
            calls, exact = truth[site]
            sums[site] = error + told.get(site, 0) - exact, spread + variance(calls, size, interval)
    scores = {site: round(error / math.sqrt(spread), 1) for site, (error, spread) in sums.items()}
    assert all(abs(z) <= FAR for z in scores.values()), scores


@pytest.mark.parametrize("name", ["cpp_new", "cpp_throws", "cpp_exceptions"])
@pytest.mark.parametrize("library", [*THROWING, "libtcmalloc.so.4"])
def test_what_was_thrown_is_no_block_from_before(started, tmp_path, library, name):
    trace = tmp_path / "t.alys"
    run(started, trace, name, preload=library)
    info = alys("info", trace).stdout
    assert "in use" in info and "from before the recording" not in info, info


def seen_at(trace, tmp_path):
    counts = {}
    for event in events_of(trace, tmp_path):
        if event["kind"] == "alloc":
            counts[site_of(event)] = counts.get(site_of(event), 0) + 1
    return counts


@pytest.mark.parametrize("program", ["c_strange", "c_strange_noplt"])
def test_a_calloc_that_ends_in_a_jump_to_memset(started, tmp_path, program):
    trace = tmp_path / "t.alys"
    run(started, trace, program)
    assert seen_at(trace, tmp_path) == {"site_calloc": 1000, "site_reallocarray": 1000, "site_malloc": 1000}
    assert_law(trace)


def test_an_interposer(started, tmp_path):
    """glibc's libmemusage.so calls the real malloc through a pointer, and its calloc ends with a jump to memset in another file."""
    trace = tmp_path / "t.alys"
    truth = run(started, trace, "c_entries", "300", preload="libmemusage.so")["sites"]
    seen = seen_at(trace, tmp_path)
    for site in ("site_malloc", "site_calloc", "site_realloc_null", "site_aligned_alloc_large", "site_posix_memalign_small"):
        assert seen[site] == truth[site]["allocs"] == 300
    assert_law(trace)


def test_an_interposer_that_jumps_on_sampled(started, tmp_path):
    """A realloc that is probed only for the old block it frees leaves no waiting call when it jumps to another function."""
    source, library, trace = tmp_path / "hands_on.c", tmp_path / "libhands_on.so", tmp_path / "t.alys"
    source.write_text("#include <stddef.h>\nextern void *__libc_realloc(void *, size_t);\n"
                      "void *realloc(void *p, size_t n) { return __libc_realloc(p, n); }\n")
    subprocess.run(["gcc", "-O2", "-fno-plt", "-shared", "-fPIC", source, "-o", library], check=True)
    run(started, trace, "c_entries", "3000", preload=str(library), args=("-s", "bytes:64"))
    assert_law(trace)
    assert "site_realloc_grow" in estimates(trace)


@pytest.mark.parametrize("name, shown", [("c_strange", "c_strange"), ("a strange\n(deleted) one", "a_strange_(deleted)_one")])
def test_what_does_not_leave_is_lost_by_name(started, tmp_path, name, shown):
    """A function is left in a way that cannot be seen: every output names it beside the lost calls."""
    trace = tmp_path / "t.alys"
    shutil.copy(PROGS / "c_strange", tmp_path / name)
    target = started.program(str(tmp_path / name), "away").wait_ready()
    tracer = started.tracer("-p", target.pid, "-o", trace).recording()
    target.go()
    target.truths()
    target.kill()
    tracer.wait()
    lost = f"no-return-malloc@{shown}"
    book = assert_law(trace, lost=500)
    assert book.rows[lost] == 500 and f"{lost} 500" in tracer.text
    assert lost in alys("info", trace).stdout
    assert lost in alys("report", trace).stdout
    alys("convert", "-f", "pprof", trace, tmp_path / "t.pb.gz")
    raw = subprocess.run(["gzip", "-dc", tmp_path / "t.pb.gz"], capture_output=True, check=True).stdout
    assert lost.encode() in raw
    assert seen_at(trace, tmp_path) == {"site_calloc": 1000, "site_reallocarray": 1000, "site_malloc": 1000}


def live(trace):
    """{site: (blocks, bytes)} that were not freed."""
    done = alys("report", "--show", "live", "-f", "json", trace)
    assert done.returncode == 0, done.stderr
    return {row["site"].split()[0]: (row["count"], row["bytes"]) for row in json.loads(done.stdout)["rows"]}


def test_doctor_says_how_functions_were_found(started):
    program = started.program("c_prefixed").wait_ready()
    listed = alys("doctor", "--probes", program.pid).stdout
    for prefix, name in (("je_", "aligned_alloc"), ("_rjem_", "malloc")):
        assert re.search(rf"^{prefix}{name} \(jemalloc\) at \S+, found by its symbol, with the prefix {prefix}: ", listed, re.M), listed
    assert re.search(r"^malloc \(libc\) at \S+, found by its symbol: ", listed, re.M), listed


def test_a_prefixed_jemalloc_and_the_frees_of_c23(started, tmp_path):
    trace = tmp_path / "t.alys"
    truth = run(started, trace, "c_prefixed")["sites"]
    assert estimates(trace) == {site: asked(t)[1] for site, t in truth.items() if sum(asked(t))}
    assert live(trace) == {site: (t["live"], t["live_bytes"]) for site, t in truth.items() if t["live"]}
