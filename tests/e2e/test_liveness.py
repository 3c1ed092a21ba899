"""What the collector reclaimed, seen from outside, against what it says itself through links that it clears."""

import collections
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from conftest import ALYS, PROGS, STRAIGHT, Tally, alys, bpftool, convert, each_event, fdinfo, site_of
from test_daemon import daemon  # noqa: F401 (a fixture)

pytestmark = pytest.mark.bpf

# More of them find rarer things.
RUNS = int(os.environ.get("ALYS_LIVENESS_RUNS", 2))

PROGRAMS = ["c_gclive", "alive.debug", "alive.release", "alive.staticgc", "alive.mt"]
FEW = {"c_gclive": "60000"}  # the others' rounds


def liveness_of(trace):
    done = alys("info", trace)
    assert done.returncode == 0, done.stderr
    return next((line.split(None, 1)[1] for line in done.stdout.splitlines() if line.startswith("liveness")), None)


def in_use(trace, tmp_path):
    """Site -> objects and bytes in use at the end, as the events say, and the events that the collector caused."""
    tally, by_gc, born = Tally(), [], {}
    for event in each_event(convert(trace, "json", tmp_path / (Path(trace).name + ".json"))):
        if event.get("cause") == "gc":
            by_gc.append((event, born.get(event["addr"])))
            tally.drop(event["addr"])
            continue
        born[event["addr"]] = event
        tally.add(event)
    return tally.sites, by_gc


def record(trace, program, *args, options=()):
    """One recording from start to end, and what the program says."""
    words = args or [FEW.get(program, "8000")]
    done = alys("--force", "-q", "-o", trace, *options, "--", PROGS / program, *words, env=STRAIGHT)
    assert done.returncode == 0, done.stderr
    return json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))


def missed_share(said):
    if said == "exact":
        return 0
    missed, of = re.fullmatch(r"upper bound \((\d+) of (\d+) collections missed\)", said).groups()
    return int(missed) / int(of)


def compare(truth, sites, exact):
    """Never fewer than are alive; where that is claimed, no more either."""
    for name, site in truth["sites"].items():
        told = sites[name]
        for field in ("live", "live_bytes"):
            assert told[field] >= site[field], f"{name}: {field}: a live object was called dead"
            assert not exact or told[field] == site[field], f"{name}: {field}"


def check_causes(by_gc):
    """A collection reclaims what was born before it."""
    for free, alloc in by_gc:
        assert alloc is not None and alloc["time"] <= free["time"]
        assert alloc.get("gc_no", 0) < free["gc_no"] or alloc["time"] == free["time"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_reclaimed_objects(program, tmp_path):
    for run in range(RUNS):
        trace = tmp_path / f"{run}.alys"
        truth = record(trace, program)
        sites, by_gc = in_use(trace, tmp_path)
        said = liveness_of(trace)
        assert by_gc, "nothing was seen to be reclaimed"
        check_causes(by_gc)
        compare(truth, sites, said == "exact")
        # On a busy machine the reader may come too late now and then.
        assert missed_share(said) < 0.5, said


@pytest.mark.parametrize("program", ["c_gclive", "alive.debug", "alive.staticgc"])
def test_attached(program, tmp_path, started):
    """A program that runs already: its collector is known before the first collection."""
    p = started.program(program, FEW.get(program, "8000")).wait_ready()
    trace = tmp_path / "t.alys"
    tracer = started.tracer("-p", p.pid, "-o", trace).recording()
    truth = p.go().truths()[0]
    time.sleep(0.1)
    tracer.stop()
    sites, by_gc = in_use(trace, tmp_path)
    compare(truth, sites, liveness_of(trace) == "exact")
    assert by_gc
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


def test_torture(tmp_path):
    """Finalizers that switch fibers inside of the collector's calls: the program must end as it does alone."""
    done = alys("-q", "-o", tmp_path / "t.alys", "--", PROGS / "torture.debug", "100000", env=STRAIGHT)
    assert done.returncode == 0, done.stderr
    _, by_gc = in_use(tmp_path / "t.alys", tmp_path)
    assert len(by_gc) > 10000
    check_causes(by_gc)


def test_missed_collections_are_said(tmp_path, started):
    """We stand still while the program collects: the heap is an upper bound from then on."""
    p = started.program("c_gclive", "60000", "1").wait_ready()
    trace = tmp_path / "t.alys"
    tracer = started.tracer("-p", p.pid, "-o", trace).recording()
    tracer.proc.send_signal(signal.SIGSTOP)
    p.go()
    time.sleep(0.5)
    tracer.proc.send_signal(signal.SIGCONT)
    truth = p.truths()[0]
    tracer.stop()
    said = liveness_of(trace)
    assert said.startswith("upper bound (") and said.endswith("collections missed)"), said
    sites, _ = in_use(trace, tmp_path)
    compare(truth, sites, False)
    report = alys("report", trace)
    assert "in-use is an upper bound: not all that the garbage collector freed was seen: " in report.stdout
    assert p.finish() == 0


def state_of(pid):
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGSTOP])
def test_target_goes_on_without_us(signum, tmp_path, started):
    """Killed or stopped at any moment, we leave no target stopped."""
    for run in range(3):
        p = started.program("c_gclive", "3000", "60").wait_ready()
        tracer = started.tracer("-p", p.pid, "--stop-at-gc", "-o", tmp_path / f"{run}.alys").recording()
        p.go()
        time.sleep(0.5 + run * 0.017)
        tracer.proc.send_signal(signum)
        time.sleep(4)
        before = Path(f"/proc/{p.pid}/stat").read_text().rsplit(")", 1)[1].split()
        assert before[0] != "T"
        switches = [line for line in Path(f"/proc/{p.pid}/status").read_text().splitlines() if "ctxt" in line]
        time.sleep(0.5)
        after = [line for line in Path(f"/proc/{p.pid}/status").read_text().splitlines() if "ctxt" in line]
        assert switches != after, "it does not run"
        tracer.kill()
        p.kill()


@pytest.mark.parametrize("where", ["call", "refill"])
def test_samples(where, tmp_path):
    """Sampled objects die as well: what is in use keeps to the error stated, over several runs."""
    errors, parts = [], 0
    for run in range(RUNS * 3):
        trace = tmp_path / f"{run}.alys"
        truth = record(trace, "alive.debug", options=["-s", "bytes:4096", "--sample-at", where])
        assert liveness_of(trace) is not None
        parts += int(re.search(r"marks-in-part +(\d+)", alys("info", trace).stdout).group(1))
        done = alys("report", "--show", "live", "-f", "json", "--focus", "site_leaf", trace)
        total = json.loads(done.stdout)["total"]
        # At refills bytes are those of a size class, so objects are compared.
        error = total["count"] * total["error"] / total["bytes"]
        errors.append((total["count"] - truth["sites"]["site_leaf"]["live"]) / error)
    # Most collections were asked about these objects only.
    assert parts > 0
    # Right on average, though one may be off; collections that were missed let some seem alive.
    assert abs(sum(errors) / len(errors)) < 3 / len(errors) ** 0.5 + 0.5, errors


def test_table_of_collections(tmp_path):
    trace = tmp_path / "t.alys"
    truth = record(trace, "c_gclive", options=["--stop-at-gc"])
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
    # The last one leaves what the program keeps, and its own tables.
    live = sum(site["live_bytes"] for site in truth["sites"].values())
    assert live <= rows[-1]["heap_live_bytes"] < 20 * live
    sites = {row["site"].split()[0] for row in rows}
    assert "main" in sites and any(site.startswith("site_") for site in sites)
    text = alys("report", "--gc", trace).stdout
    assert "Pause ms" in text and "[total]" in text
    none = alys("report", "--gc", trace, "--pid", "1")
    assert none.returncode == 3 and "no collection was seen" in none.stderr


def test_two_processes(tmp_path, started):
    """Each has a collector of its own, and its own numbers of collections."""
    both = [started.program("c_gclive", str(rounds)).wait_ready() for rounds in (30000, 60000)]
    trace = tmp_path / "t.alys"
    tracer = started.tracer("-p", f"{both[0].pid},{both[1].pid}", "--stop-at-gc", "-o", trace).recording()
    truths = [p.go() for p in both] and [p.truths()[0] for p in both]
    tracer.stop()
    assert liveness_of(trace) == "exact"
    sites = sites_by_process(trace, tmp_path / "t.json")
    for p, truth in zip(both, truths):
        compare(truth, sites[p.pid], True)
        assert p.finish() == 0


def test_report_waits_for_a_collection(started):
    p = started.program("c_gclive", "60000", "5").wait_ready()
    watching = subprocess.Popen([str(ALYS), "report", "-v", "-p", str(p.pid), "--live", "--gc-wait", "20", "-f", "json"], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while "recording" not in watching.stderr.readline():
        assert watching.poll() is None
    p.go()
    out, said = watching.communicate(timeout=30)
    assert watching.returncode == 0, said
    told = json.loads(out)
    assert "no collection came" not in said
    # The first collection comes after a few hundred kilobytes; without one all 60,000 rounds would be there.
    assert 0 < told["total"]["count"] < 20000 and not told["upper_bound"]
    p.kill()


def test_report_says_that_none_came(started):
    p = started.program("c_gclive").wait_ready()
    done = alys("report", "-p", p.pid, "--gc-wait", "0.5")
    assert "no collection came in 0.5 s" in done.stderr
    p.kill()


def test_page_marks_collections(tmp_path):
    trace = tmp_path / "t.alys"
    record(trace, "c_gclive")
    page = convert(trace, "html", tmp_path / "t.html").read_text()
    marks = json.loads(re.search(r'"collections":(\[\[.*?\]\])', page).group(1))
    assert len(marks) >= 5 and all(pause > 0 for _, pause, _ in marks)
    assert sum(reclaimed for _, _, reclaimed in marks) > 1000000


def sites_by_process(trace, out):
    """Site -> in use, for each process number."""
    tallies = collections.defaultdict(Tally)
    for event in each_event(convert(trace, "json", out)):
        tally = tallies[event["tgid"]]
        tally.drop(event["addr"]) if event.get("cause") == "gc" else tally.add(event)
    return {tgid: tally.sites for tgid, tally in tallies.items()}


def test_forked_child(tmp_path):
    """Its heap is a copy, its collector counts on; what it inherited is not its own."""
    trace = tmp_path / "t.alys"
    done = alys("-q", "--follow", "--stop-at-gc", "-o", trace, "--", PROGS / "c_gclive", "20000", "0", "fork", env=STRAIGHT)
    assert done.returncode == 0, done.stderr
    truths = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(truths) == 2
    assert liveness_of(trace) == "exact"
    sites = sites_by_process(trace, tmp_path / "t.json")
    for truth in truths:
        compare(truth, sites[truth["pid"]], True)


def test_incremental_collector(tmp_path):
    """Its marks come in steps: what is in use is an upper bound, and said to be; nothing alive dies."""
    trace = tmp_path / "t.alys"
    done = alys("-q", "-o", trace, "--", PROGS / "c_gclive", "20000", env={**STRAIGHT, "GC_ENABLE_INCREMENTAL": "1"})
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"upper bound \(process \d+ collects incrementally(; \d+ of \d+ collections missed)?\)", liveness_of(trace))
    sites, _ = in_use(trace, tmp_path)
    compare(json.loads(done.stdout), sites, False)


def is_stopped(pid, seconds):
    """All the time, for so long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if state_of(pid) != "T":
            return False
        time.sleep(0.01)
    return True


def wait_state(pid, stopped, seconds=20):
    """False when it never was."""
    end = time.monotonic() + seconds
    while (state_of(pid) == "T") != stopped:
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGKILL])
def test_leaves_stopped_what_others_stopped(signum, tmp_path, started):
    """Who else stops a process that we stop at each collection is obeyed: meanwhile, when we end, and when we are killed."""
    p = started.program("c_gclive", "3000", "600").wait_ready()
    tracer = started.tracer("-p", p.pid, "--stop-at-gc", "-o", tmp_path / "t.alys").recording()
    p.go()
    time.sleep(0.3)
    # We stand still, so the program does at its next collection; another stop comes, and then we go on.
    tracer.proc.send_signal(signal.SIGSTOP)
    wait_state(p.pid, True, 1.5)
    os.kill(p.pid, signal.SIGSTOP)
    tracer.proc.send_signal(signal.SIGCONT)
    assert is_stopped(p.pid, 3), "somebody else had stopped it"
    os.kill(p.pid, signal.SIGCONT)
    assert wait_state(p.pid, False)
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
    assert wait_state(p.pid, False)
    p.kill()


def test_asked_for_collections(tmp_path, started):
    """No probe fits the collector's code: its counter is read instead. Nothing alive dies, and what died is found."""
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
        # It went on collecting for seconds: nearly all that was garbage is known to be.
        made = sum(site["allocs"] - site["frees"] - site["live"] for site in truth["sites"].values())
        left = sum(sites[name]["live"] - site["live"] for name, site in truth["sites"].items())
        assert left < made / 10, (left, made)
        rows = json.loads(alys("report", "--gc", "--top", "0", "-f", "json", trace).stdout)["rows"]
        assert rows and rows[-1]["heap_bytes"] > 0


def without_symbols(program, to, *names):
    """A copy whose symbol table lacks these."""
    subprocess.run(["objcopy", *(f"--strip-symbol={name}" for name in names), PROGS / program, to], check=True)
    return to


@pytest.mark.parametrize("follow", [False, True])
def test_one_collector_that_cannot_be_watched(follow, tmp_path, started):
    """It costs the others nothing, and is named."""
    blind = without_symbols("c_gclive_odd", tmp_path / "blind", "GC_gc_no", "GC_get_gc_no")
    odd, sound = started.program(blind).wait_ready(), started.program("c_gclive").wait_ready()
    trace = tmp_path / "t.alys"
    options = ["--follow"] if follow else []
    tracer = started.tracer("-p", f"{odd.pid},{sound.pid}", *options, "--stop-at-gc", "-o", trace).recording()
    odd.go().truths()
    truth = sound.go().truths()[0]
    tracer.stop()
    said = liveness_of(trace)
    assert said.startswith(f"upper bound (nothing of process {odd.pid} (blind): {blind}: no symbol GC_gc_no"), said
    assert said.endswith("; of the others all was seen)")
    compare(truth, sites_by_process(trace, tmp_path / "t.json")[sound.pid], True)
    report = alys("report", trace).stdout
    assert f"process {odd.pid} (blind)" in report and "in-use is an upper bound" in report
    assert odd.finish() == 0 and sound.finish() == 0


def test_none_of_the_collectors_can_be_watched(tmp_path):
    """A child, too, is without liveness for its parent's reason."""
    blind = without_symbols("c_gclive_odd", tmp_path / "blind", "GC_gc_no", "GC_get_gc_no")
    trace = tmp_path / "t.alys"
    done = alys("-q", "--follow", "-o", trace, "--", blind, "5000", "0", "fork", env=STRAIGHT)
    assert done.returncode == 0, done.stderr
    said = liveness_of(trace)
    assert re.fullmatch(r"none \(process \d+ \(blind\): .*, and 1 more process\)", said), said


def map_of(pid, name):
    """Number and value size of the BPF map that this process has by that name."""
    for text in fdinfo(pid):
        found = re.search(r"^map_id:\s*(\d+)", text, re.M)
        shown = found and bpftool("map", "show", "id", found[1])
        if shown and shown.get("name") == name:
            return shown["id"], shown["bytes_value"], shown["max_entries"]
    raise AssertionError(f"no map {name}")


def test_no_room_for_a_collector(tmp_path, started):
    """The kernel's table of collecting processes is full: who found no room is asked instead, and it is said."""
    p = started.program("c_gclive", "20000", "3").wait_ready()
    trace = tmp_path / "t.alys"
    tracer = started.tracer("-p", p.pid, "-o", trace).recording()
    number, size, room = map_of(tracer.proc.pid, "gc_states")
    batch = tmp_path / "batch"
    # Numbers that no process has: above the kernel's largest.
    keys = (" ".join(f"{byte:02x}" for byte in (0x40000000 + i).to_bytes(4, "little")) for i in range(room))
    batch.write_text("".join(f"map update id {number} key hex {key} value hex {' 00' * size}\n" for key in keys))
    subprocess.run(["bpftool", "batch", "file", batch], check=True, stdout=subprocess.DEVNULL, timeout=60)
    truth = p.go().truths()[0]
    assert p.finish() == 0
    tracer.wait()
    info = alys("info", trace).stdout
    assert int(re.search(r"collections-no-room\s+(\d+)", info)[1]) > 0, info
    assert f"process {p.pid}: too many processes collect garbage at once, no room was left for it" in liveness_of(trace)
    sites, by_gc = in_use(trace, tmp_path)
    compare(truth, sites, False)
    assert by_gc


def test_status_of_the_daemon(started, daemon, tmp_path):
    """Of programs that collect garbage; who cannot be watched is named."""
    blind = without_symbols("c_gclive_odd", tmp_path / "blind", "GC_gc_no", "GC_get_gc_no")
    odd, sound, plain = (started.program(name).wait_ready() for name in (blind, "c_gclive", "c_busy"))
    d = daemon("-p", plain.pid, "--sample", "bytes:4k")
    d.until(lambda: d.traced() == 1)
    assert "liveness" not in d.status()
    for p in (odd, sound):
        d.ctl("add", p.pid)
        p.go()
        p.truths()
    d.until(lambda: f"process {odd.pid} (blind): " in d.status().get("liveness", ""))
    d.ctl("remove", odd.pid)
    assert odd.finish() == 0 and sound.finish() == 0
