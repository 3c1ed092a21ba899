# SPDX-License-Identifier: Apache-2.0
"""Reclaimed objects of several processes, each with its own collector."""

import collections
import json
import re

import pytest

from collected import compare, liveness_of, was_stopped, without_symbols
from conftest import PROGS, STRAIGHT, Tally, alys, convert, each_event

# Not beside others: a machine that is busy with other tests reads marks too late.
pytestmark = pytest.mark.bpf


def sites_by_process(trace, out):
    """{process number: {site: in use}}"""
    tallies = collections.defaultdict(Tally)
    for event in each_event(convert(trace, "json", out)):
        tally = tallies[event["tgid"]]
        tally.drop(event["addr"]) if event.get("cause") == "gc" else tally.add(event)
    return {tgid: tally.sites for tgid, tally in tallies.items()}


def test_two_processes(tmp_path, started):
    """Each process has its own collector and its own numbering of collections."""
    both = [started.program("c_gclive", str(rounds)).wait_ready() for rounds in (30000, 60000)]
    trace = tmp_path / "t.alys"
    tracer = started.tracer("-p", f"{both[0].pid},{both[1].pid}", "--stop-at-gc", "-o", trace).recording()
    truths = [p.go() for p in both] and [p.truths()[0] for p in both]
    tracer.stop()
    assert all(was_stopped(p) for p in both)
    assert liveness_of(trace) == "exact"
    sites = sites_by_process(trace, tmp_path / "t.json")
    for p, truth in zip(both, truths):
        compare(truth, sites[p.pid], True)
        assert p.finish() == 0


def test_forked_child(tmp_path):
    """A child's heap is a copy, and its collector counts on. Inherited objects do not count as its own."""
    trace = tmp_path / "t.alys"
    done = alys("-q", "--follow", "--stop-at-gc", "-o", trace, "--", PROGS / "c_gclive", "20000", "0", "fork", env=STRAIGHT)
    assert done.returncode == 0, done.stderr
    truths = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(truths) == 2
    assert liveness_of(trace) == "exact"
    sites = sites_by_process(trace, tmp_path / "t.json")
    for truth in truths:
        compare(truth, sites[truth["pid"]], True)


@pytest.mark.parametrize("follow", [False, True])
def test_one_collector_that_cannot_be_watched(follow, tmp_path, started):
    """It is named, and the other collectors are watched."""
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
    """A child has no liveness for the same reason as its parent."""
    blind = without_symbols("c_gclive_odd", tmp_path / "blind", "GC_gc_no", "GC_get_gc_no")
    trace = tmp_path / "t.alys"
    done = alys("-q", "--follow", "-o", trace, "--", blind, "5000", "0", "fork", env=STRAIGHT)
    assert done.returncode == 0, done.stderr
    said = liveness_of(trace)
    assert re.fullmatch(r"none \(process \d+ \(blind\): .*, and 1 more process\)", said), said
