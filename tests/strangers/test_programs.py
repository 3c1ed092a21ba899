# SPDX-License-Identifier: Apache-2.0
"""Unmodified Debian programs: recorded and estimated allocations, compared with counts by a preloaded library."""

import collections
import re

import pytest

from conftest import alys, assert_law, events_of
from estimates import FAR
from programs import GUESTS, Counts, counts_below, place, start  # noqa: F401 (a fixture)

pytestmark = [pytest.mark.bpf, pytest.mark.beside]
each_guest = pytest.mark.parametrize("guest", GUESTS, ids=lambda g: g.name)


def record(started, guest, folder, trace, *options):
    """Records the program's whole work; returns the counter's numbers by process."""
    for old in (folder / "counts").iterdir():
        old.unlink()
    counted = started.other(start(guest, folder, folder / "counts"))
    counted.hears("ready")
    tracer = started.tracer("-p", counted.pid, "-o", trace, "--force", "-b", "none", *guest.options, *options).recording()
    counted.go()
    if guest.drive:
        guest.drive(folder, counted)
    status, said = counted.finish()
    assert status in guest.statuses, said
    assert tracer.wait() == 0, tracer.text
    return counts_below(folder / "counts")


def counts_of(events):
    """The recording's numbers by process, in the form of the counter's."""
    found = collections.defaultdict(lambda: [0] * 5)
    for event in events:
        row = found[event["tgid"]]
        if event["kind"] == "free" or not event["addr"]:
            row[4] += 1
        else:
            at = 2 if event["kind"] == "realloc" and event.get("prev_addr") else 0
            row[at] += 1
            row[at + 1] += event["size"]
    return {tgid: Counts(*row) for tgid, row in found.items()}


@each_guest
def test_exact(started, tmp_path, guest, place):
    trace = tmp_path / "t.alys"
    told = record(started, guest, place, trace)
    assert counts_of(events_of(trace, tmp_path)) == told
    assert_law(trace)


def sampled(started, guest, folder, trace):
    """Deviations of estimated bytes and blocks from the counts, in stated standard errors."""
    told = record(started, guest, folder, trace, "-s", f"bytes:{guest.every}").values()
    assert_law(trace)
    total = alys("report", "--by", "process", "--show", "alloc", "-f", "json", trace)
    assert total.returncode == 0, total.stderr
    size, error = re.search(r'"total":{"count":\d+,"bytes":(\d+),"error":(\d+)', total.stdout).groups()
    blocks, wide = re.search(r"^allocated +([\d,]+) \+- ([\d,]+) blocks", alys("info", trace).stdout, re.M).groups()
    number = lambda text: int(text.replace(",", ""))
    return ((number(size) - sum(t.bytes + t.realloc_bytes for t in told)) / max(1, number(error)),
            (number(blocks) - sum(t.allocs + t.reallocs for t in told)) / max(1, number(wide)))


@each_guest
def test_sampled(started, tmp_path, guest, place):
    scores = sampled(started, guest, place, tmp_path / "t.alys")
    if max(map(abs, scores)) >= FAR:
        scores = sampled(started, guest, place, tmp_path / "t.alys")
    assert max(map(abs, scores)) < FAR, scores
