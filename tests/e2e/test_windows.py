# SPDX-License-Identifier: Apache-2.0
"""--max-overhead: probes are attached in windows, and estimates have the stated error."""

import re
import time

import pytest

from conftest import PROGS, STRAIGHT, alys, assert_clean, assert_law, events_of, probe_programs, site_of
from windows import FAR, SITES, estimates, recorded, windows_of

pytestmark = pytest.mark.bpf


@pytest.mark.parametrize("mode", ["steady", "bursty", "periodic", "startup", "threads"])
def test_estimates_hold(tmp_path, mode):
    """Sizes are the upper ends of size classes, so that a refill's blocks equal the requested sizes but for one byte."""
    trace = tmp_path / "t.alys"
    truth = recorded(trace, PROGS / "c_gcrates", "4", mode, args=("-s", "bytes:4k", "--max-overhead", "3"))
    told = estimates(trace)
    assert windows_of(trace) > 0 or mode == "startup"
    assert_law(trace)
    if mode != "steady" and "that no window met" in alys("info", trace).stdout:
        return
    for site in SITES:
        size, error = told[site]
        assert error > 0 and abs(size - truth[site]["bytes"]) <= FAR * error, (site, size, error, truth[site])
    # The collector's own counter has the sum, with however few windows. Only what came after its last reading is estimated.
    both, exact = sum(told[s][0] for s in SITES), sum(truth[s]["bytes"] for s in SITES)
    far = 0.05 if mode in ("steady", "threads") else 0.5
    assert both == pytest.approx(exact, rel=far)


def test_what_no_window_met_is_told(tmp_path):
    """Of a program that ends before the first window only its start is known, and the output says so."""
    trace = tmp_path / "t.alys"
    # Gaps are random: now and then the first one is short.
    for _ in range(10):
        recorded(trace, PROGS / "c_gcrates", "1", "steady", args=("-s", "bytes:4k", "--max-overhead", "0.001"))
        if windows_of(trace) == 0:
            break
    assert windows_of(trace) == 0
    for told in alys("info", trace), alys("report", "--show", "alloc", trace):
        assert re.search(r"not sampled.* bytes of processes that no window met", told.stdout), told.stdout


def test_weights_say_the_same_as_reports(tmp_path):
    trace = tmp_path / "t.alys"
    recorded(trace, PROGS / "c_gcrates", "2", "steady", args=("-s", "bytes:16k", "--max-overhead", "1"))
    told = estimates(trace)
    found = dict.fromkeys(SITES, 0)
    for event in events_of(trace, tmp_path):
        if event["kind"] == "alloc" and site_of(event) in found:
            found[site_of(event)] += event["weight"] * event["size"]
    for site in SITES:
        assert found[site] == pytest.approx(told[site][0], rel=1e-3), site


def test_in_use_of_a_collector(tmp_path):
    """Objects seen in windows are followed by marks until they are reclaimed, like all others."""
    trace = tmp_path / "t.alys"
    # What the last of few windows saw may be all there is, and it lives until the end.
    for _ in range(10):
        recorded(trace, PROGS / "c_gcrates", "3", "steady", args=("-s", "bytes:4k", "--max-overhead", "1"))
        if windows_of(trace) > 3:
            break
    assert windows_of(trace) > 3
    kinds = [e["kind"] for e in events_of(trace, tmp_path)]
    assert kinds.count("free") > 0.3 * kinds.count("alloc"), (kinds.count("free"), kinds.count("alloc"))


def test_no_probe_stays_when_all_samples_are_dead(started, tmp_path):
    """Collections are observed until then; later ones are not, and all the same no sampled object is taken for live."""
    trace = tmp_path / "t.alys"
    program = started.program("c_gcrates", "8", "steady").wait_ready()
    tracer = started.tracer("-p", program.pid, "-o", trace, "-s", "bytes:4k", "--max-overhead", "1").recording()
    program.go()
    program.truths()
    done = int(program.said[-1].split()[1])
    assert program.finish() == 0
    assert tracer.wait() == 0
    assert windows_of(trace) > 0
    told = alys("info", trace).stdout
    assert re.search(r"^liveness +exact for what was sampled$", told, re.MULTILINE), told
    kinds = [e["kind"] for e in events_of(trace, tmp_path)]
    assert kinds.count("free") > 0.7 * kinds.count("alloc") > 0, (kinds.count("free"), kinds.count("alloc"))
    assert 0 < assert_law(trace).rows["collections"] < done / 2, done


def test_cheap_probes_stay(tmp_path):
    """Far below the budget probes stay attached: no windows, and the usual weights."""
    trace = tmp_path / "t.alys"
    truth = recorded(trace, PROGS / "c_gcrates", "1", "periodic", args=("-s", "bytes:4k", "--max-overhead", "100"))
    assert windows_of(trace) == 0
    for site, (size, error) in estimates(trace).items():
        if site in SITES:
            assert abs(size - truth[site]["bytes"]) <= FAR * error


def test_it_wants_samples():
    done = alys("--max-overhead", "1", "--", "/bin/true")
    assert done.returncode == 2 and "--max-overhead is for samples" in done.stderr


@pytest.mark.parametrize("percent", ["-1", "101", "some", ""])
def test_bad_percent(percent):
    done = alys("-s", "bytes:4k", "--max-overhead", percent, "--", "/bin/true")
    assert done.returncode == 2 and "--max-overhead wants a percentage" in done.stderr


def test_killed_between_and_in_windows(started, tmp_path):
    """If the recorder is killed at any time, its probes go and the program continues."""
    before = probe_programs()
    program = started.program("c_gcrates", "6", "steady").wait_ready().go()
    for n in range(3):
        tracer = started.tracer("-p", program.pid, "-o", tmp_path / f"{n}.alys", "-s", "bytes:4k", "--max-overhead", "1").recording()
        time.sleep(0.3 + 0.007 * n)
        tracer.kill()
        assert_clean(program.pid, before)
    assert program.truths()[0]["sites"]["site_rest"]["allocs"] > 0
    assert program.finish() == 0


@pytest.mark.parametrize("name,args", [("alloc.release", []), ("alloc.staticgc", []), ("torture.release", ["2000"])])
def test_crystal(tmp_path, name, args):
    """Fibers, threads and a collector within the executable: every hit is accounted for."""
    trace = tmp_path / "t.alys"
    done = alys("--force", "-q", "-o", trace, "-s", "bytes:4k", "--max-overhead", "0.1", "--", PROGS / name, *args, env=STRAIGHT)
    assert done.returncode == 0, done.stderr
    assert_law(trace, lost=None)


def test_collections_without_samples_wake_nobody(tmp_path):
    """The reader of marks is woken for samples that may have died, and now and then to read all marks."""
    trace = tmp_path / "t.alys"
    alys("-q", "-s", "bytes:16m", "--max-overhead", "0", "-o", trace, "--", PROGS / "c_gc", env={"ALYS_NO_WAIT": "1"})
    told = alys("info", trace).stdout
    note = {name: int(n) for name, n in re.findall(r"^  note +([a-z-]+) +(\d+)", told, re.MULTILINE)}
    assert note["marks-of-none"] > 0
    assert note.get("marks-in-part", 0) + note["marks-of-none"] <= note["collections"]
    assert 0 < note["reclaimed"] <= note["recorded-alloc"] < note["collections"]
    assert_law(trace)
