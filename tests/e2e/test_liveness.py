# SPDX-License-Identifier: Apache-2.0
"""Reclaimed objects as seen by alys-bpf, compared with the collector's own disappearing links."""

import collections
import json
import os
import re
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest

from collected import FEW, check_causes, compare, in_use, liveness_of, record, was_stopped, without_symbols
from conftest import ALYS, PROGS, STRAIGHT, TIMEOUT, alys, bpftool, convert, events_of, fdinfo, ledger, pprof
from lying_collector import lying_collector

pytestmark = [pytest.mark.bpf, pytest.mark.beside]


# More runs find rarer errors.
RUNS = int(os.environ.get("ALYS_LIVENESS_RUNS", 2))

PROGRAMS = ["c_gclive", "alive.debug", "alive.release", "alive.staticgc", "alive.mt"]


# What the message adds when a collection was missed.
UNKNOWN = r"(?:; of what the last collection marked, .* not known to the recording)?"


def missed_share(said):
    if said == "exact":
        return 0
    missed, of = re.fullmatch(rf"upper bound \((\d+) of (\d+) collections missed{UNKNOWN}\)", said).groups()
    return int(missed) / int(of)


@pytest.mark.parametrize("program", PROGRAMS)
def test_reclaimed_objects(program, tmp_path):
    shares = []
    # On a busy machine the reader may come too late now and then, but not always.
    while len(shares) < RUNS or (min(shares) >= 0.5 and len(shares) < RUNS + 10):
        trace = tmp_path / f"{len(shares)}.alys"
        truth = record(trace, program)
        sites, by_gc = in_use(trace, tmp_path)
        said = liveness_of(trace)
        assert by_gc, "nothing was seen to be reclaimed"
        check_causes(by_gc)
        compare(truth, sites, said == "exact")
        shares.append(missed_share(said))
    assert min(shares) < 0.5, shares


@pytest.mark.parametrize("program", ["c_gclive", "alive.debug", "alive.staticgc"])
def test_attached(program, tmp_path, started):
    """When attaching, the collector is known before the first collection."""
    p = started.program(program, FEW.get(program, "8000")).wait_ready()
    trace = tmp_path / "t.alys"
    tracer = started.tracer("-p", p.pid, "-o", trace).recording()
    truth = p.go().truths()[0]
    time.sleep(0.1)
    tracer.stop()
    sites, by_gc = in_use(trace, tmp_path)
    compare(truth, sites, liveness_of(trace) == "exact")
    assert by_gc
    assert not was_stopped(p), "stopped unasked"
    assert p.finish() == 0


@pytest.mark.parametrize("program", PROGRAMS)
def test_stopped_at_each_collection(program, tmp_path):
    trace = tmp_path / "t.alys"
    truth = record(trace, program, options=["--stop-at-gc"])
    sites, by_gc = in_use(trace, tmp_path)
    said = liveness_of(trace)
    assert said == "exact"
    assert by_gc
    compare(truth, sites, True)
    compare_profile(truth, convert(trace, "pprof", tmp_path / "t.pb.gz"))


def compare_profile(truth, profile):
    """Compares only what is in use; other tests check stacks."""
    for index, field in (("inuse_objects", "live"), ("inuse_space", "live_bytes")):
        text = pprof("-top", "-cum", "-unit=b", "-nodecount=0", "-nodefraction=0", f"-sample_index={index}", profile)
        told = {name: int(n) for n, name in re.findall(r"^ *\S+ +\S+% +\S+% +(\d+)[bB]? +\S+% +.*?\b(site_\w+)", text, re.M)}
        for name, site in truth["sites"].items():
            assert told.get(name, 0) == site[field], (name, index, text)


def memprof_rows(trace):
    """[(count, bytes, frames)], largest first."""
    done = alys("report", "--by", "stack", "-f", "markdown", "--show", "live", "--min-bytes", "3000", trace)
    assert done.stdout.startswith("| Allocations | Total size | Context |\n|------------:|-----------:|---------|\n"), done
    return [(int(count.replace(",", "")), int(size.replace(",", "")), re.findall("`([^`]*)`", context))
            for count, size, context in re.findall(r"^\| +([\d,]+) \| +([\d,]+) \| (`.*`) \|$", done.stdout, re.M)]


@pytest.mark.parametrize("words", ["", 3 * "truncate\n"], ids=["all", "truncated"])
def test_documented_table(words, tmp_path):
    """MemProf's example: an array of 100,000 Foo, then its first 1,000. It leaves 1,184; the collector is conservative."""
    trace = tmp_path / "t.alys"
    done = subprocess.run([str(ALYS), "-q", "--stop-at-gc", "-o", str(trace), "--", str(PROGS / "graph.debug")], input=words,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    rows = memprof_rows(trace)
    array, = (row for row in rows if row[2][0].endswith("in 'Array(Foo)#initialize'"))
    foos, = (row for row in rows if row[2][0].endswith("in 'Foo.new'"))
    assert array[:2] == (1, 800000) and re.search(r"/array\.cr:\d+:\d+ in 'Array\(Foo\)\.new'$", array[2][1])
    assert foos[1] == 4 * foos[0] and (1000 <= foos[0] <= 1500 if words else foos[0] == 100000)
    assert re.search(r"/graph\.cr:\d+:\d+ in '__crystal_main'$", foos[2][1]) and len(foos[2]) == len(array[2]) == 5
    assert rows.index(array) < rows.index(foos)


@pytest.mark.heavy
def test_torture(tmp_path):
    """Finalizers switch fibers within the collector's calls: the program must end as it does without a tracer."""
    done = alys("-q", "-o", tmp_path / "t.alys", "--", PROGS / "torture.debug", "100000", env=STRAIGHT)
    assert done.returncode == 0, done.stderr
    _, by_gc = in_use(tmp_path / "t.alys", tmp_path)
    assert len(by_gc) > 10000
    check_causes(by_gc)


def test_missed_collections_are_said(tmp_path, started):
    """The tracer is stopped while the program collects: from then on the heap is an upper bound."""
    p = started.program("c_gclive", "60000", "1").wait_ready()
    trace = tmp_path / "t.alys"
    tracer = started.tracer("-p", p.pid, "-o", trace).recording()
    tracer.proc.send_signal(signal.SIGSTOP)
    p.go()
    # Collects some times by then, and the ring still has room; or, on a quick machine, it is through before.
    until(lambda: cpu_seconds(p.pid) > 0.1 or select.select([p.proc.stdout], [], [], 0)[0])
    tracer.proc.send_signal(signal.SIGCONT)
    truth = p.truths()[0]
    tracer.stop()
    said = liveness_of(trace)
    assert said.startswith("upper bound (") and said.endswith("collections missed)"), said
    sites, _ = in_use(trace, tmp_path)
    compare(truth, sites, False)
    # Their addresses were allocated again, by which they are known to be dead.
    assert int(re.search(r"reclaimed-unseen +(\d+)", alys("info", trace).stdout)[1]) > 0
    report = alys("report", trace)
    assert "in-use is an upper bound: not all that the garbage collector freed was seen: " in report.stdout
    assert p.finish() == 0


def test_more_collections_than_can_be_read(tmp_path, started):
    """A recorder that does not run for a moment misses wake-ups of its mark reader: those collections are missed, and nobody waits."""
    trace = tmp_path / "t.alys"
    program = started.program("c_gcstorm").wait_ready()
    tracer = started.tracer("--sample", "bytes:512k", "--max-overhead", "0", "-p", program.pid, "-o", trace).recording()
    program.go()
    tracer.proc.send_signal(signal.SIGSTOP)
    time.sleep(0.2)
    tracer.proc.send_signal(signal.SIGCONT)
    program.truths(1)
    tracer.stop()
    assert program.finish() == 0
    rows = ledger(trace).rows
    assert 10 < rows["collections-missed"] < rows["collections"], rows


def stat_of(pid):
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()


def state_of(pid):
    return stat_of(pid)[0]


def cpu_seconds(pid):
    return sum(map(int, stat_of(pid)[11:13])) / os.sysconf("SC_CLK_TCK")


def until(condition, seconds=60):
    """Whether the condition held before the timeout."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def runs_freely(pid, seconds):
    """Whether the process is never stopped for this long, and makes progress."""
    def switches():
        return [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if "ctxt" in line]

    before, end = switches(), time.monotonic() + seconds
    while time.monotonic() < end:
        if state_of(pid) == "T":
            return False
        time.sleep(0.01)
    return switches() != before


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGSTOP])
def test_target_goes_on_without_us(signum, tmp_path, started):
    """If alys-bpf is killed or stopped at any moment, no target stays stopped."""
    for run in range(3):
        p = started.program("c_gclive", "3000", "60").wait_ready()
        tracer = started.tracer("-p", p.pid, "--stop-at-gc", "-o", tmp_path / f"{run}.alys").recording()
        p.go()
        time.sleep(0.5 + run * 0.017)
        tracer.proc.send_signal(signum)
        # Allowed for a second, and ended after two.
        assert until(lambda: runs_freely(p.pid, 1.5), 40), "it does not run"
        tracer.kill()
        p.kill()


@pytest.mark.parametrize("where", ["call", "refill"])
def test_samples(where, tmp_path):
    """Sampled objects are reclaimed as well: over several runs, what is in use is within the stated error."""
    errors, parts = [], 0
    for run in range(RUNS * 3):
        trace = tmp_path / f"{run}.alys"
        # A missed collection would cause another kind of error.
        truth = record(trace, "alive.debug", options=["-s", "bytes:4096", "--sample-at", where, "--stop-at-gc"])
        assert liveness_of(trace) is not None
        parts += int(re.search(r"marks-in-part +(\d+)", alys("info", trace).stdout).group(1))
        done = alys("report", "--show", "live", "-f", "json", "--focus", "site_leaf", trace)
        total = json.loads(done.stdout)["total"]
        # At refills bytes are those of a size class, so objects are compared.
        error = total["count"] * total["error"] / total["bytes"]
        errors.append((total["count"] - truth["sites"]["site_leaf"]["live"]) / error)
    # Most collections were asked about these objects only.
    assert parts > 0
    # Right on average; a single one may be off.
    assert abs(sum(errors) / len(errors)) < 3 / len(errors) ** 0.5 + 0.5, errors


def test_table_of_collections(tmp_path, started):
    p = started.program("c_gclive").wait_ready()
    trace = tmp_path / "t.alys"
    tracer = started.tracer("-p", p.pid, "--stop-at-gc", "-o", trace).recording()
    truth = p.go().truths()[0]
    tracer.stop()
    # It stands still from its last collection on.
    heap = json.loads(alys("census", "--heap", "-p", p.pid, "-f", "json").stdout)
    done = alys("report", "--gc", "--top", "0", "-f", "json", trace)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    rows = told["rows"]
    numbers = [row["gc_no"] for row in rows]
    assert numbers == sorted(set(numbers)) and len(rows) >= 5
    assert all(0 < row["pause_ms"] <= row["took_ms"] for row in rows)
    assert all(row["heap_live_bytes"] <= row["heap_bytes"] for row in rows)
    _, by_gc = in_use(trace, tmp_path)
    assert told["total"]["reclaimed_count"] == sum(row["reclaimed_count"] for row in rows) == len(by_gc)
    assert rows[-1]["heap_bytes"] == heap["heap_bytes"] and rows[-1]["gc_no"] == heap["collection"]
    # Each process frees its own blocks when it ends. Times of events count from the first event.
    freed, offsets = collections.defaultdict(list), []
    for free, alloc in by_gc:
        freed[free["gc_no"]].append((free["time"], alloc["size"]))
    for row in rows:
        ends = {time for time, _ in freed[row["gc_no"]]}
        assert len(freed[row["gc_no"]]) == row["reclaimed_count"]
        assert sum(size for _, size in freed[row["gc_no"]]) == row["reclaimed_bytes"]
        assert len(ends) <= 1
        offsets += [row["time"] + row["took_ms"] / 1000 - end for end in ends]
    assert len(offsets) >= 5 and max(offsets) - min(offsets) < 2e-3
    # The last one leaves what the program keeps, and its own tables.
    live = sum(site["live_bytes"] for site in truth["sites"].values())
    assert live <= rows[-1]["heap_live_bytes"] < 20 * live
    sites = {row["site"].split()[0] for row in rows}
    assert "work" in sites and any(site.startswith("site_") for site in sites)
    text = alys("report", "--gc", trace).stdout
    assert "Pause ms" in text and "[total]" in text
    none = alys("report", "--gc", trace, "--pid", "1")
    assert none.returncode == 3 and "no collection recorded" in none.stderr
    assert p.finish() == 0


def live_after_a_collection(started):
    p = started.program("c_gclive", "60000", "5").wait_ready()
    watching = subprocess.Popen([str(ALYS), "report", "-v", "-p", str(p.pid), "--live", "--gc-wait", "60", "-f", "json"], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while "recording" not in watching.stderr.readline():
        assert watching.poll() is None
    p.go()
    out, said = watching.communicate(timeout=120)
    assert watching.returncode == 0, said
    assert "no collection within" not in said
    p.kill()
    return json.loads(out)


def test_report_waits_for_a_collection(started):
    """The first collection comes after a few hundred kilobytes; without it all 60,000 rounds would be in use."""
    for _ in range(6):
        told = live_after_a_collection(started)
        assert 0 < told["total"]["count"] < 20000
        # On a busy machine its marks may be read too late, and then it says so.
        if not told["upper_bound"]:
            return
    raise AssertionError("each first collection was missed")


COLLECTS_ON_SIGNAL = """
Signal::USR1.trap { GC.collect }
kept = Array.new(100) { |i| "kept #{i}" }
puts "ready"
STDOUT.flush
loop { sleep 0.02; kept << "x" * 40 if kept.size < 200 }
"""


def test_report_says_how_to_have_a_collection(tmp_path):
    """The program allocates too little to collect by itself; following the report's advice makes it collect."""
    source, program = tmp_path / "signal.cr", tmp_path / "signal"
    source.write_text(COLLECTS_ON_SIGNAL)
    subprocess.run(["crystal", "build", source, "-o", program], check=True)
    p = subprocess.Popen([program], stdout=subprocess.PIPE, text=True)
    try:
        assert p.stdout.readline() == "ready\n"
        watching = subprocess.Popen([str(ALYS), "report", "-p", str(p.pid), "--live", "-f", "json"], text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        advice = next(line for line in watching.stderr if "collection" in line)
        assert "cannot be triggered from outside" in advice and "Signal::USR1.trap { GC.collect }" in advice
        assert f"`kill -USR1 {p.pid}`" in advice
        p.send_signal(signal.SIGUSR1)
        out, said = watching.communicate(timeout=120)
        assert watching.returncode == 0 and "no collection within" not in said, said
        assert json.loads(out)
        assert p.poll() is None
    finally:
        p.kill()
        p.wait()


def test_report_says_that_none_came(started):
    p = started.program("c_gclive").wait_ready()
    done = alys("report", "-p", p.pid, "--gc-wait", "0.5")
    assert "no collection within 0.5 s" in done.stderr
    p.kill()


@pytest.mark.parametrize("args", [["--live"], ["--gc-wait", "600"]])
def test_report_does_not_wait_for_a_collector_that_is_not_there(args, started):
    p = started.program("c_libc").wait_ready()
    done = alys("report", "-p", p.pid, *args)
    assert done.returncode == 3 and done.stdout == "", done
    assert f"process {p.pid} (c_libc) has no collector of Boehm's" in done.stderr, done.stderr


def test_page_marks_collections(tmp_path):
    trace = tmp_path / "t.alys"
    record(trace, "c_gclive", options=["--stop-at-gc"])
    page = convert(trace, "html", tmp_path / "t.html").read_text()
    marks = json.loads(re.search(r'"collections":(\[\[.*?\]\])', page).group(1))
    assert len(marks) >= 5 and all(pause > 0 for _, pause, _ in marks)
    assert sum(reclaimed for _, _, reclaimed in marks) > 1000000


def test_incremental_collector(tmp_path):
    """An incremental collector marks in steps: what is in use is stated as an upper bound, and no live object is reclaimed."""
    trace = tmp_path / "t.alys"
    done = alys("-q", "-o", trace, "--", PROGS / "c_gclive", "20000", env={**STRAIGHT, "GC_ENABLE_INCREMENTAL": "1"})
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(rf"upper bound \(process \d+ collects incrementally(; \d+ of \d+ collections missed)?{UNKNOWN}\)", liveness_of(trace))
    sites, _ = in_use(trace, tmp_path)
    compare(json.loads(done.stdout), sites, False)


def is_stopped(pid, seconds):
    """Whether the process is stopped all the time for this long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if state_of(pid) != "T":
            return False
        time.sleep(0.01)
    return True


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGKILL])
def test_leaves_stopped_what_others_stopped(signum, tmp_path, started):
    """A process that others stop stays stopped, also with --stop-at-gc: during a recording, at its end, and when the tracer is killed."""
    p = started.program("c_gclive", "3000", "600").wait_ready()
    tracer = started.tracer("-p", p.pid, "--stop-at-gc", "-o", tmp_path / "t.alys").recording()
    p.go()
    time.sleep(0.3)
    # The tracer is stopped, so the program stops at its next collection. Another stop arrives, then the tracer continues.
    tracer.proc.send_signal(signal.SIGSTOP)
    until(lambda: state_of(p.pid) == "T", 1.5)
    os.kill(p.pid, signal.SIGSTOP)
    tracer.proc.send_signal(signal.SIGCONT)
    assert is_stopped(p.pid, 3), "somebody else had stopped it"
    os.kill(p.pid, signal.SIGCONT)
    assert until(lambda: state_of(p.pid) != "T", 20)
    # Two stops at the very same moment are one to the kernel, and ours then ends both: ask again.
    for _ in range(20):
        os.kill(p.pid, signal.SIGSTOP)
        time.sleep(0.1)
        if is_stopped(p.pid, 0.3):
            break
    tracer.proc.send_signal(signum)
    tracer.proc.wait(30)
    assert is_stopped(p.pid, 4), "somebody else had stopped it"
    os.kill(p.pid, signal.SIGCONT)
    assert until(lambda: state_of(p.pid) != "T", 20)
    p.kill()


def test_asked_for_collections(tmp_path, started):
    """If the collector cannot be probed, its counter is polled. No live object is reclaimed, and dead ones are found."""
    for run in range(RUNS):
        p = started.program("c_gclive_odd", "20000", "4").wait_ready()
        trace = tmp_path / f"{run}.alys"
        tracer = started.tracer("-p", p.pid, "-o", trace).recording()
        truth = p.go().truths()[0]
        assert p.finish() == 0
        tracer.wait()
        said = liveness_of(trace)
        assert said.startswith(f"upper bound (process {p.pid} (c_gclive_odd): "), said
        assert "more than one function adds to GC_gc_no" in said and "its counter is read ten times a second instead" in said
        sites, by_gc = in_use(trace, tmp_path)
        compare(truth, sites, False)
        assert by_gc and all(alloc["time"] <= free["time"] for free, alloc in by_gc)
        # It went on collecting for seconds, so nearly all garbage is known to be garbage.
        made = sum(site["allocs"] - site["frees"] - site["live"] for site in truth["sites"].values())
        left = sum(sites[name]["live"] - site["live"] for name, site in truth["sites"].items())
        assert left < made / 10, (left, made)
        rows = json.loads(alys("report", "--gc", "--top", "0", "-f", "json", trace).stdout)["rows"]
        assert rows and rows[-1]["heap_bytes"] > 0


def map_of(pid, name):
    """Id and value size of the process' BPF map of that name."""
    for text in fdinfo(pid):
        found = re.search(r"^map_id:\s*(\d+)", text, re.M)
        shown = found and bpftool("map", "show", "id", found[1])
        if shown and shown.get("name") == name:
            return shown["id"], shown["bytes_value"], shown["max_entries"]
    raise AssertionError(f"no map {name}")


def no_room(tracer, tmp_path):
    """Fills the kernel's table of collecting processes; returns a function that empties it."""
    number, size, room = map_of(tracer, "gc_states")
    # Numbers above the kernel's limit, which no process has.
    keys = [" ".join(f"{byte:02x}" for byte in (0x40000000 + i).to_bytes(4, "little")) for i in range(room)]

    def batch(verb, value):
        path = tmp_path / verb
        path.write_text("".join(f"map {verb} id {number} key hex {key}{value}\n" for key in keys))
        subprocess.run(["bpftool", "batch", "file", path], check=True, stdout=subprocess.DEVNULL, timeout=TIMEOUT)

    batch("update", f" value hex {' 00' * size}")
    return lambda: batch("delete", "")


def test_no_room_for_a_collector(tmp_path, started):
    """If the kernel's table of collecting processes is full, further collectors are polled, and the output says so."""
    p = started.program("c_gclive", "20000", "3").wait_ready()
    trace = tmp_path / "t.alys"
    tracer = started.tracer("-p", p.pid, "-o", trace).recording()
    no_room(tracer.proc.pid, tmp_path)
    truth = p.go().truths()[0]
    assert p.finish() == 0
    tracer.wait()
    info = alys("info", trace).stdout
    assert int(re.search(r"collections-no-room\s+(\d+)", info)[1]) > 0, info
    assert f"process {p.pid}: too many processes collect garbage at once, no room was left for it" in liveness_of(trace)
    sites, by_gc = in_use(trace, tmp_path)
    compare(truth, sites, False)
    assert by_gc


def test_layout_that_is_proven_wrong(tmp_path, started):
    """If marks may be misread, no object is taken for dead, and the reason is reported."""
    p = started.program("c_gclive", "20000", "1", env=lying_collector(tmp_path)).wait_ready()
    trace = tmp_path / "t.alys"
    tracer = started.tracer("-p", p.pid, "-o", trace).recording()
    assert until(lambda: tracer.has_said("proven wrong: the size of an object")), tracer.text
    truth = p.go().truths()[0]
    tracer.stop()
    assert re.match(r"none \(.* is rejected, proven wrong: the size of an object", liveness_of(trace)), liveness_of(trace)
    sites, _ = in_use(trace, tmp_path)
    compare(truth, sites, False)
    assert "in-use is an upper bound" in alys("report", trace).stdout
    assert p.finish() == 0


def added(d, program, file):
    """The daemon tracks its collector, once the file's layout has been proven."""
    d.ctl("add", program.pid)
    line = re.escape(str(file)) + r"\S*: \d+ functions probed"
    d.until(lambda: re.search(line, d.log()), TIMEOUT)


def test_a_collector_met_when_there_was_room_again(started, daemon, tmp_path):
    """A collector that finds room is watched, although an earlier one found none."""
    first = started.program("c_gclive", "20000").wait_ready()
    later = started.program("c_gcfixed", env={"GC_DONT_GC": "1"}).wait_ready()
    plain = started.program("c_busy").wait_ready()
    d = daemon("-p", plain.pid, "--sample", "bytes:4k")
    added(d, first, "libgc")
    make_room = no_room(d.collector(), tmp_path)
    first.go().truths()
    said = f"process {first.pid}: too many processes collect garbage at once"
    d.until(lambda: said in d.status().get("liveness", ""), TIMEOUT)
    make_room()
    for _ in range(3):  # all that had been sent by then has been read
        time.sleep(0.5)
        d.status()
    links = lambda: int(re.search(r"(\d+) links", d.status()["probes"]).group(1))
    before = links()
    d.ctl("add", later.pid)
    d.until(lambda: links() > before, TIMEOUT)
    later.go().truths()
    d.until(lambda: later.pid in d.status()["table"], TIMEOUT)
    time.sleep(0.5)
    assert "more process" not in d.status()["liveness"] and said in d.status()["liveness"]
    assert first.finish() == 0 and later.finish() == 0


def test_status_of_the_daemon(started, daemon, tmp_path):
    """Status names collectors that cannot be watched, and says that all others are."""
    blind = without_symbols("c_gclive_odd", tmp_path / "blind", "GC_gc_no", "GC_get_gc_no")
    odd, sound, plain = (started.program(name).wait_ready() for name in (blind, "c_gclive", "c_busy"))
    d = daemon("-p", plain.pid, "--sample", "bytes:4k")
    d.until(lambda: d.traced() == 1)
    assert "liveness" not in d.status()
    for p, file in ((odd, blind), (sound, "libgc")):
        added(d, p, file)
        p.go()
        p.truths()
    # A collector that has just appeared may not be known yet.
    first = f"upper bound (nothing of process {odd.pid} (blind): "
    d.until(lambda: {odd.pid, sound.pid} <= set(d.status()["table"]), TIMEOUT)
    d.until(lambda: d.status()["liveness"].startswith(first), TIMEOUT)
    d.ctl("remove", odd.pid)
    assert odd.finish() == 0 and sound.finish() == 0


NUMBERED = 77  # the size that c_gcnumber asks for


def numbers_of(trace, tmp_path):
    return collections.Counter(str(e["gc_no"]) for e in events_of(trace, tmp_path) if e["kind"] == "alloc" and e["size"] == NUMBERED)


@pytest.mark.parametrize("mode", ["told", "untold"])
def test_each_block_has_its_collections_number(tmp_path, mode):
    """The counter is read once per collection as long as probes report each. A collection that no probe reported is noticed."""
    trace = tmp_path / "t.alys"
    truth = record(trace, "c_gcnumber", mode)
    said = numbers_of(trace, tmp_path)
    wrong = sum((collections.Counter(truth) - said).values())
    untold = ledger(trace).rows.get("collections-unreported", 0)
    assert wrong == 0 if mode == "told" else wrong < 64, (wrong, truth, said)
    assert untold == (mode == "untold"), untold
