# SPDX-License-Identifier: Apache-2.0
"""Estimates of recordings with probes attached during windows only."""

import json
import re

from conftest import STRAIGHT, alys

FAR = 6  # standard errors: one estimate in thousands is beyond four, practically none beyond six
SITES = "site_rest", "site_tenth"


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
