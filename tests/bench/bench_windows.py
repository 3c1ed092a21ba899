# SPDX-License-Identifier: Apache-2.0
"""
Errors under a budget, where windows are corrected by a collector's own count, against always-on sampling at the same N. At 4k that sees
each refill already, so windows cannot make up for what they do not see; at the default of 512k they can.
"""
from estimates import ALWAYS, BUDGET, LOAD_RUNS, LOADS, SECONDS, WINDOWS, judge_intervals, sampled, tell_rows
from harness import verdict

RATES = "4k", "512k"


def measure(rate):
    """Rows of all loads, and what judges them."""
    rows, held, times = [], [], {}
    for load in LOADS:
        windows, always = (sampled(["c_gcrates", SECONDS, load], rate, options, LOAD_RUNS) for options in (BUDGET, ALWAYS))
        rows += [windows.row(f"libgc, {load}, {WINDOWS}", rate), always.row(f"libgc, {load}, always on", rate)]
        held += windows.held
        times[load] = windows.off / always.off
    return rows, held, times


def main():
    found = {rate: measure(rate) for rate in RATES}
    tell_rows("Error of the bytes allocated at a site, with a collector's count", [row for rows, *_ in found.values() for row in rows])
    for rate, (_, held, times) in found.items():
        judge_intervals(f"libgc, all loads, {WINDOWS}", rate, held)
        for load, by in times.items():
            verdict(f"error with a collector's count, {load}, bytes:{rate}, {WINDOWS} against always on", "at most 1.5x", f"{by:.2f}x",
                    by <= 1.5)


main()
