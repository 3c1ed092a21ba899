# SPDX-License-Identifier: Apache-2.0
"""
What test_arm64_probes.py leaves to scripts/test-arm64: more programs, collectors that free, Erlang's VM, the daemon, and pages, each
on an emulated aarch64 machine with the kernel of Debian 13.
"""

import json
import re

import pytest

from arm64_machine import Plan, assert_exact, assert_predicted, assert_whole, boot, recorded, truths
from collected import check_causes, compare, in_use, liveness_of
from conftest import alys, assert_law, assert_same, events_of, parse_ledger, site_of, tally
from erlang import WORD, WORDS, by_process, table
from golang import assert_go_stacks

pytestmark = pytest.mark.long
PLAN = Plan("6.12", exact={"c_static": 1, "c_leaves": 1, "c_seccomp": 1, "cpp_new": 1, "c_fork": 3, "c_gc": 1, "c_gcentries": 1, "c_gcback": 1},
            recorded={"c_longjmp": 1, "c_siglongjmp": 1, "c_sdt": 1, "go_calls": 1},
            live=("tortured", "watched"), verbs=True, collected=True, erlang=True)


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """What it left: a folder."""
    return boot(PLAN, tmp_path_factory.mktemp("machine"))


@pytest.mark.parametrize("name", PLAN.exact)
def test_exact(machine, tmp_path, name):
    assert_exact(machine, tmp_path, name, PLAN.exact[name])


@pytest.mark.parametrize("name", PLAN.exact)
def test_stacks_are_whole(machine, tmp_path, name):
    assert_whole(machine, tmp_path, name)


def test_calls_that_were_left_by_longjmp(machine, tmp_path):
    truth, seen = recorded(machine, "c_longjmp", tmp_path)
    (pid, sites), = truth.items()
    assert_same({"site_after_jumps": sites["site_after_jumps"]}, {"site_after_jumps": seen[pid]["site_after_jumps"]},
                skip=("live", "live_bytes"))
    assert_law(machine / "c_longjmp.alys", lost=None)


def test_calls_that_a_signal_left(machine, tmp_path):
    truth, seen = recorded(machine, "c_siglongjmp", tmp_path)
    (pid, sites), = truth.items()
    made = sites["site_after_jump"]["allocs"]
    assert made == 5000 and made - 300 < seen[pid]["site_after_jump"]["allocs"] <= made
    assert_law(machine / "c_siglongjmp.alys", lost=None)


def test_stacks_through_go(machine, tmp_path):
    """Goroutines call C on the thread's stack; C calls Go back on the goroutine's."""
    assert (machine / "go_calls.status").read_text() == "tracer 0\ntarget 0\n", (machine / "go_calls.err").read_text()
    truth, = [json.loads(line) for line in (machine / "go_calls.own").read_text().splitlines() if line.startswith("{")]
    assert_go_stacks(machine / "go_calls.alys", truth, tmp_path)
    assert_law(machine / "go_calls.alys")


def test_probes_of_systemtaps_header(machine, tmp_path):
    """The compiler chose where their arguments are. One block in eight is reported, and stands for eight."""
    truth, seen = recorded(machine, "c_sdt", tmp_path)
    (pid, sites), = truth.items()
    assert sites["site_sdt_alloc"]["allocs"] == 500
    assert_same(sites, seen[pid])
    (row,) = json.loads(alys("report", "--show", "alloc", "-f", "json", machine / "c_sdt.alys").stdout)["rows"]
    assert row["bytes"] == pytest.approx(8 * sites["site_sdt_alloc"]["bytes"], rel=0.001)
    assert assert_law(machine / "c_sdt.alys").skipped == 0


def test_heaps_of_erlang_processes(machine):
    """Words as the VM counts them, functions in the order and with the shares of their words, also those that call no other."""
    trace, (line,) = machine / "words.alys", [line for line in (machine / "words.own").read_text().splitlines() if line.startswith("{")]
    rows, processes, truth = table(trace), by_process(trace), json.loads(line)
    assert truth["reclaimed"] * 0.95 < sum(row["words"] for row in rows) < truth["reclaimed"] * 1.05
    assert [row["function"] for row in rows][:3] == list(WORDS)
    for row in rows[:3]:
        share = 100 * WORDS[row["function"]] / sum(WORDS.values())
        assert abs(row["percent"] - share) < 4 * row["percent_error"] and row["percent_error"] < 5, rows[:3]
    assert all(re.fullmatch(r"<0\.\d+\.\d+>", name) for name in processes)
    assert processes[max(processes, key=lambda name: processes[name]["words"])]["called"] == "erlang:apply/2"
    assert {"code_server", "erl_prim_loader", "user"} & {row["called"] for row in processes.values()}, processes
    counts = assert_law(trace).rows
    assert counts["heap-minor"] + counts["heap-major"] == counts["heap-collections"] > 1000
    assert counts["heap-collections"] / 32 < counts["heap-timed"] < counts["heap-collections"] / 8


def test_words_that_the_vm_counts_itself(machine):
    """What no window met is told in bytes, not in CPU time: nearly all that the VM says it reclaimed."""
    truth, = [json.loads(line) for line in (machine / "words_unmet.own").read_text().splitlines() if line.startswith("{")]
    told = re.search(r"^not sampled +(\d+) bytes of processes that no window met", alys("info", machine / "words_unmet.alys").stdout, re.M)
    assert told and truth["reclaimed"] * WORD * 0.8 < int(told[1]) < truth["reclaimed"] * WORD * 1.05


@pytest.mark.parametrize("name", ["heap", "frozen"])
def test_heap_of_malloc(machine, name):
    """As malloc_info says."""
    answer, truth = json.loads((machine / f"{name}.json").read_text()), json.loads((machine / "heap.own").read_text())
    assert (answer["frozen_ms"] > 0) == (name == "frozen")
    assert sum(a["bytes"] for a in answer["arenas"]) == truth["arena"]
    assert sum(answer[f"{kind}_bytes"] for kind in ("fastbin", "unsorted", "small_bin", "large_bin", "top")) == truth["free"]
    assert (answer["mmapped"], answer["mmapped_bytes"]) == (truth["mmapped_cnt"], truth["mmapped"])
    assert answer["layout"].startswith("proven: ")


def test_heap_of_a_collector(machine):
    assert re.search(r"proven: \d{3,} objects in a helper process", (machine / "collected.census").read_text())


def test_mappings(machine):
    sites = {name: int(pages) for name, pages, _ in map(str.split, filter(lambda line: line.count(" ") == 2,
             (machine / "maps.own").read_text().splitlines())) if int(pages)}
    rows = alys("report", "--by", "function", "--show", "alloc", "--inclusive", "--top", "0", machine / "maps.alys").stdout
    seen = {row[0]: int(row[3]) // 4096 for row in map(str.split, rows.splitlines()) if row and row[0] in sites}
    assert seen == sites and len(sites) > 10


def test_counted_calls(machine):
    truth, = truths(machine, "calls").values()
    rows = alys("report", "--by", "function", machine / "calls.alys").stdout
    seen = {row[0]: int(row[1]) for row in map(str.split, rows.splitlines()) if row and row[0] in truth}
    assert seen["site_malloc"] == truth["site_malloc"]["allocs"] and seen["site_calloc"] == truth["site_calloc"]["allocs"]


def test_resident_pages(machine):
    said = (line.split() for line in (machine / "rss.own").read_text().splitlines() if line.count(" ") == 2)
    truth = {name: int(touched) for name, touched, _ in said if name != "touch_huge"}  # of huge pages there may be none
    rows = json.loads(alys("report", "--by", "function", "--show", "alloc", "--inclusive", "--top", "0", "-f", "json",
                           machine / "rss.alys").stdout)["rows"]
    seen = {row["function"]: row["count"] for row in rows}
    # The page of its stack frame may have been resident before.
    assert abs(seen.pop("touch_stack") - truth.pop("touch_stack")) <= 1
    assert {name: seen.get(name, 0) for name in truth} == truth and len(truth) > 10, seen
    assert_law(machine / "rss.alys")


def test_all_verbs_succeed(machine):
    assert (machine / "verbs.status").read_text() == "maps 0\ncalls 0\nrss 0\n"


# --- what a collector freed -------------------------------------------------------------------------

def collected(machine, name):
    """What the program said; the numbers of its collections, as its collector printed them."""
    said = (machine / f"{name}.err").read_text(errors="replace")
    assert (machine / f"{name}.status").read_text() == "status 0\n", said[-2000:]
    numbers = [int(n) for n in re.findall(r"Marking for collection #(\d+) ", said)]
    truth = next(json.loads(line) for line in (machine / f"{name}.own").read_text().splitlines() if line.startswith("{"))
    return truth, numbers


@pytest.mark.parametrize("name", ["gclive", "alive"])
def test_collected_objects(machine, tmp_path, name):
    """Equal to the truth, which the collector tells the program through disappearing links."""
    truth, numbers = collected(machine, name)
    trace = machine / f"{name}.alys"
    assert liveness_of(trace) == "exact"
    sites, by_gc = in_use(trace, tmp_path)
    assert by_gc
    check_causes(by_gc)
    compare(truth, sites, True)
    for site, exact in truth["sites"].items():
        assert (sites[site]["allocs"], sites[site]["bytes"]) == (exact["allocs"], exact["bytes"]), site
    rows = json.loads(alys("report", "--gc", "--top", "0", "-f", "json", trace).stdout)["rows"]
    assert [row["gc_no"] for row in rows] == numbers and len(numbers) > 5
    assert sum(row["reclaimed_count"] for row in rows) == len(by_gc)
    assert assert_law(trace).rows["collections"] == len(numbers)


def assert_near(trace, show, site, exact):
    """A number of objects is within the stated error."""
    total = json.loads(alys("report", "--show", show, "-f", "json", "--focus", site, trace).stdout)["total"]
    error = total["count"] * total["error"] / total["bytes"]
    assert 0 < error < total["count"] / 2 and abs(total["count"] - exact) < 6 * error, (show, site, total)


def test_sampled_at_refills(machine):
    """Estimates, and what of them is still in use, are within the error that they state."""
    truth, numbers = collected(machine, "refills")
    trace = machine / "refills.alys"
    assert re.search(r"^sampled at +refill$", alys("info", trace).stdout, re.M)
    assert liveness_of(trace) == "exact for what was sampled"
    assert assert_law(trace).rows["collections"] == len(numbers)
    for show, field in (("alloc", "allocs"), ("live", "live")):
        for site in ("site_leaf", "site_node"):
            assert_near(trace, show, site, truth["sites"][site][field])


def test_thread_that_left_its_collector_and_came_back(machine, tmp_path):
    truth = truths(machine, "c_gcback")
    made = sum(site["allocs"] for sites in truth.values() for site in sites.values())
    blocks = {event["addr"] for event in events_of(machine / "c_gcback.alys", tmp_path)
              if event["kind"] == "alloc" and site_of(event) in {"site_before", "site_back", "site_other"}}
    assert made - 1 <= len(blocks) <= made


@pytest.mark.parametrize("name", ["gcthreads", "gcstatic"])
def test_results_are_known_from_the_start(machine, tmp_path, name):
    """Of many threads, and of a first one whose pointer the kernel does not know yet, as the static program is not held again."""
    truth, _ = collected(machine, name)
    assert_predicted(machine, name)
    seen = tally(events_of(machine / f"{name}.alys", tmp_path))[truth["pid"]]
    assert_same(truth["sites"], seen, others=100, skip=("live", "live_bytes"))


def test_results_are_known_when_calls_are_sampled(machine):
    truth, _ = collected(machine, "gcrandom")
    assert_predicted(machine, "gcrandom")
    assert re.search(r"^sampled at +call$", alys("info", machine / "gcrandom.alys").stdout, re.M)
    made = sum(site["allocs"] for name, site in truth["sites"].items() if "site_threads" in name)
    assert_near(machine / "gcrandom.alys", "alloc", "site_threads", made)


def test_collector_that_was_loaded_later(machine):
    """A thread's free lists are found through the table of modules, too."""
    assert (machine / "c_gcloaded.status").read_text() == "tracer 0\ntarget 0\n", (machine / "c_gcloaded.err").read_text()
    sites, = truths(machine, "c_gcloaded").values()
    trace = machine / "c_gcloaded.alys"
    assert_law(trace)
    assert re.search(r"^sampled at +refill$", alys("info", trace).stdout, re.M)
    assert_near(trace, "alloc", "site_loaded", sites["site_loaded"]["allocs"])


# --- programs that are met at work -----------------------------------------------------------------

def text_changed(out, name):
    return {line.split()[0]: [int(n) for n in line.split()[1:]] for line in (out / f"{name}.text").read_text().splitlines()}


def test_attach_and_detach_over_and_over(machine):
    """Finalizers of this program switch fibers in the middle of an allocation."""
    assert (machine / "torture.status").read_text() == "".join(f"turn {n} 0\n" for n in range(1, 5)) + "target 0\n", (machine / "torture.err").read_text()
    assert re.fullmatch(r"ready\nmade [1-9]\d* finalized [1-9]\d* switches [1-9]\d*\n", (machine / "torture.own").read_text())
    text = text_changed(machine, "torture")
    assert text["recording"][0] > 0 and text["killed"] == text["end"] == [0]
    assert text["loaded"][0] == text["loaded"][1]
    books = [parse_ledger(line) for line in (machine / "torture.books").read_text().splitlines()]
    assert len(books) == 4 and any(book.hits for book in books)
    assert all(book.hits == book.recorded + book.skipped + book.lost for book in books)


def test_daemon(machine):
    """Records two programs, is killed, begins again and ends."""
    assert (machine / "daemon.status").read_text() == "stop 0\ndaemon 0\none 0\ntwo 0\n", (machine / "daemon.err").read_text()
    assert len(re.findall(r"c_grow .* [KM]iB", (machine / "daemon.seen").read_text())) == 2
    for name in ("daemon.metrics", "daemon.again"):
        assert re.search(r"^alys_hits_total(\{.*\})? [1-9]", (machine / name).read_text(), re.M)
    header, _, body = (machine / "daemon.heap").read_bytes().partition(b"\r\n\r\n")
    assert header.startswith(b"HTTP/1.1 200 ") and body
    text = text_changed(machine, "daemon")
    assert all(text["recording"]) and text["killed"] == text["end"] == [0, 0]
    assert text["socket"] == [] and text["loaded"][0] == text["loaded"][1]
