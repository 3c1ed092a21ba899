# SPDX-License-Identifier: Apache-2.0
"""Estimates of recordings with probes attached during windows only."""

import functools
import json
import re

from conftest import STRAIGHT, alys

FAR = 6  # standard errors: one estimate in thousands is beyond four, practically none beyond six
SITES = "site_rest", "site_tenth"


USUAL_US = 0.9  # what a probe took where the programs' work was chosen


@functools.cache
def slower():
    """A probe takes so many times as long as usual here: ten times in some virtual machines."""
    took = re.search(r"^a probe +([\d.]+) us", alys("doctor").stdout, re.M)
    return max(1, float(took[1]) / USUAL_US)


def work(turns):
    """Turns of work between two allocations, so that probes take the same share of the time wherever the program runs."""
    return str(round(turns * slower()))


def every(size):
    """The rate by which as many are sampled as elsewhere, although work() leaves time for fewer allocations."""
    return f"bytes:{max(16, round(size / slower()))}"


def recorded(trace, *words, args=(), env=None):
    """Records the program; returns the truth that it prints."""
    done = alys("--force", "-o", trace, *args, "--", *words, env={**STRAIGHT, **(env or {})})
    assert done.returncode == 0, done.stderr
    return json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))["sites"]


def estimates(trace):
    done = alys("report", "--show", "alloc", "-f", "json", trace)
    assert done.returncode == 0, done.stderr
    return {re.match(r"\w+", row["site"]).group(): (row["bytes"], row["error"]) for row in json.loads(done.stdout)["rows"]}


def windows_of(trace):
    """The number of windows as printed by info; 0 if probes were attached all the time."""
    line = re.search(r"^windows +(.*)$", alys("info", trace).stdout, re.M).group(1)
    assert re.search(r"% of the time covered", line) and re.search(r"took [\d.e+-]+ % of the programs' CPU time", line), line
    found = re.search(r"in (\d+) windows?;", line)
    return int(found.group(1)) if found else 0
