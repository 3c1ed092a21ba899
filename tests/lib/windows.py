# SPDX-License-Identifier: Apache-2.0
"""Estimates of recordings whose probes are in for windows of time only."""

import json
import re

from conftest import STRAIGHT, alys

FAR = 6  # standard errors: one look in thousands is beyond four, none beyond six
SITES = "site_rest", "site_tenth"


def recorded(trace, *words, args=(), env=None):
    """What the program says of itself, of one recording."""
    done = alys("--force", "-o", trace, *args, "--", *words, env={**STRAIGHT, **(env or {})})
    assert done.returncode == 0, done.stderr
    return json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))["sites"]


def estimates(trace):
    done = alys("report", "--show", "alloc", "-f", "json", trace)
    assert done.returncode == 0, done.stderr
    return {re.match(r"\w+", row["site"]).group(): (row["bytes"], row["error"]) for row in json.loads(done.stdout)["rows"]}


def windows_of(trace):
    """How many there were, as info says; 0 when probes were in all the time."""
    line = re.search(r"^windows +(.*)$", alys("info", trace).stdout, re.M).group(1)
    assert re.search(r"% of the time covered", line) and re.search(r"took [\d.e+-]+ % of the programs' CPU time", line), line
    found = re.search(r"in (\d+) windows?;", line)
    return int(found.group(1)) if found else 0
