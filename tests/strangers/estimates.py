# SPDX-License-Identifier: Apache-2.0
"""Compares estimates and their stated errors with the truth."""

import json
import math
import re

from conftest import alys

# In standard errors. By chance six of a hundred thousand correct estimates are further off, so tests repeat such a recording.
FAR = 4
# With fewer expected samples, errors are not normally distributed.
FEW = 40


def rows(trace, show):
    """{site: (bytes, squared stated error)}; None: allocations of no site."""
    done = alys("report", "--by", "stack", "--show", show, "-f", "json", "--top", "0", "--depth", "128", trace)
    assert done.returncode == 0, done.stderr
    found = {}
    for row in json.loads(done.stdout)["rows"]:
        site = site_among(row["stack"])
        size, square = found.get(site, (0, 0))
        found[site] = size + row["bytes"], square + row["error"] ** 2
    return found


def site_among(frames):
    """The innermost frame that is a site, as conftest's site_of finds it."""
    for frame in frames:
        if "__cxa_allocate_exception" in frame:
            return None
        site = re.search(r"\bsite_\w+", frame.rsplit(" in ", 1)[-1])
        if site:
            return site.group()
    return None


def expected_error(size, calls, every):
    """The theoretical standard error, for sites of which nothing was sampled and no error is stated."""
    mean = size / calls
    return math.sqrt(size * mean / math.expm1(mean / every))


def far_off(estimates, truth, every):
    """
    {site: z} of sites that are too far from the truth. `truth` is {site: (bytes, calls)}. Sites with so few expected samples
    that their errors are not normally distributed are pooled.
    """
    pools = {}
    for site, (size, calls) in truth.items():
        pool = pools.setdefault(site if size >= FEW * every else None, [0, 0, 0, 0])
        found, square = estimates.get(site, (0, 0))
        for i, n in enumerate((found, square, size, calls)):
            pool[i] += n
    scores = {}
    for site, (found, square, size, calls) in pools.items():
        if size:
            scores[site] = (found - size) / max(math.sqrt(square), 1 if square else expected_error(size, calls, every))
    return {site: z for site, z in scores.items() if abs(z) >= FAR}
