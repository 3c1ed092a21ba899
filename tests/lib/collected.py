# SPDX-License-Identifier: Apache-2.0
"""Recordings of programs with a garbage collector."""

import json
import os
import subprocess
from pathlib import Path

from conftest import PROGS, ROOT, STRAIGHT, Tally, alys, convert, each_event

SOURCES = ROOT / "tests" / "prog"
FEW = {"c_gclive": "60000"}  # rounds of single programs; 8000 otherwise


def liveness_of(trace):
    done = alys("info", trace)
    assert done.returncode == 0, done.stderr
    return next((line.split(None, 1)[1] for line in done.stdout.splitlines() if line.startswith("liveness")), None)


def record(trace, program, *args, options=()):
    """Records a program from start to end; returns what it printed."""
    words = args or [FEW.get(program, "8000")]
    done = alys("--force", "-q", "-o", trace, *options, "--", PROGS / program, *words, env=STRAIGHT)
    assert done.returncode == 0, done.stderr
    return json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))


def compare(truth, sites, exact):
    """Never fewer objects than are alive, and no more if the recording says "exact"."""
    for name, site in truth["sites"].items():
        told = sites[name]
        for field in ("live", "live_bytes"):
            assert told[field] >= site[field], f"{name}: {field}: a live object was called dead"
            assert not exact or told[field] == site[field], f"{name}: {field}"


def in_use(trace, tmp_path):
    """{site: (objects, bytes)} in use at the end according to the events, and the events caused by the collector."""
    tally, by_gc, born = Tally(), [], {}
    for event in each_event(convert(trace, "json", tmp_path / (Path(trace).name + ".json"))):
        if event.get("cause") == "gc":
            by_gc.append((event, born.get(event["addr"])))
            tally.drop(event["addr"])
            continue
        born[event["addr"]] = event
        tally.add(event)
    return tally.sites, by_gc


def check_causes(by_gc):
    """A collection reclaims objects allocated before it."""
    for free, alloc in by_gc:
        assert free["kind"] == "free" and alloc is not None and alloc["time"] <= free["time"]
        assert alloc.get("gc_no", 0) < free["gc_no"] or alloc["time"] == free["time"]


def was_stopped(program):
    """Whether the child was ever stopped: the kernel reports stops and continues to the parent."""
    return os.waitid(os.P_PID, program.pid, os.WSTOPPED | os.WCONTINUED | os.WNOHANG | os.WNOWAIT) is not None


def without_symbols(program, to, *names):
    """A copy of a file without these symbols."""
    subprocess.run(["objcopy", *(f"--strip-symbol={name}" for name in names), PROGS / program, to], check=True)
    return to
