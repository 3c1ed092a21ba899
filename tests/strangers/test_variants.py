# SPDX-License-Identifier: Apache-2.0
"""A program with known allocations, built with each compiler, linker and allocator: exact counts, estimates, and gdb's stacks."""

import pytest

import variants
from conftest import assert_law, assert_same, events_of, pooled, tally
from estimates import far_off, rows
from variants import VARIANTS

pytestmark = [pytest.mark.bpf, pytest.mark.beside]
each_variant = pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: v.name)
EVERY = 8192
# Not compared: below this site the C++ unwinder allocates and frees on its own.
THROWS = "site_new_refused"


def record(started, variant, trace, rounds, *options):
    """Records the waiting program's work; returns the truth that it prints."""
    program = started.program(str(variants.build(variant)), str(rounds), env=variant.env).wait_ready()
    tracer = started.tracer("-p", program.pid, "-o", trace, "--force", *options).recording()
    truth = program.go().truths()[0]
    tracer.stop()
    assert program.finish() == 0
    return truth


@each_variant
def test_exact(started, tmp_path, variant):
    trace = tmp_path / "t.alys"
    told = record(started, variant, trace, 700)
    truth = told["sites"]
    (seen,) = tally(events_of(trace, tmp_path)).values()
    seen.pop(THROWS, None)
    if not variant.named:
        assert pooled(seen, seen) == pooled(truth, truth)
    elif variant.bare:
        assert_same(truth, seen, deep={"site_strdup"})
        assert assert_law(trace).rows["stack-end-no-table"] > 0
    else:
        assert_same(truth, seen)
        # Outside of sites, only exception objects are allocated.
        assert seen.get(None, {}).get("allocs", 0) == told.get("failed", 0)
    assert_law(trace)


def sampled(started, variant, trace):
    """Sites that are too far from the truth in one sampled recording."""
    truth = record(started, variant, trace, 4000, "-s", f"bytes:{EVERY}")["sites"]
    book = assert_law(trace)
    assert book.skipped > book.recorded > 0
    made = {site: (t["bytes"] + t["realloc_bytes"], t["allocs"] + t["reallocs"]) for site, t in truth.items()}
    live = {site: (t["live_bytes"], t["live"]) for site, t in truth.items()}
    found = {}
    for show, true in (("alloc", made), ("live", live)):
        told = rows(trace, show)
        told.pop(THROWS, None)
        if not variant.named or variant.bare:
            told, true = ({None: tuple(map(sum, zip(*d.values())))} for d in (told, true))
        assert told.keys() <= true.keys() | {None}, "a site that asked for nothing"
        found |= {(show, site): z for site, z in far_off(told, true, EVERY).items()}
    return found


@each_variant
def test_sampled(started, tmp_path, variant):
    far = sampled(started, variant, tmp_path / "t.alys")
    if far:
        again = sampled(started, variant, tmp_path / "t.alys")
        far = {what: (z, again[what]) for what, z in far.items() if what in again}
    assert not far
