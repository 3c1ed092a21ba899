# SPDX-License-Identifier: Apache-2.0
"""Errors of estimates against the programs' own counts, and coverage of the stated intervals."""
import os
import re
import subprocess

from estimates import ALWAYS, BUDGET, ENV, LOAD_RUNS, LOADS, RUNS, SECONDS, WINDOWS, Estimates, judge_intervals, path_of, percent, \
    sampled, tell_rows, truth_in
from harness import OUT, table
from tracers import missing

LIBC = "/lib/x86_64-linux-gnu/libc.so.6"

# What is recorded, and how: program and words, options, rates.
CASES = {
    "malloc": (["c_fixed"], ALWAYS, ("exact", "4k", "512k")),
    "libgc, at calls": (["c_gcfixed"], [*ALWAYS, "--sample-at", "call"], ("exact", "4k", "512k")),
    "libgc, at refills": (["c_gcfixed", "blocks"], [*ALWAYS, "--sample-at", "refill"], ("4k", "512k")),
    **{f"malloc, {load}, {WINDOWS}": (["c_rates", SECONDS, load, "24000"], BUDGET, ("4k",)) for load in LOADS},
}


def runs_of(words):
    return LOAD_RUNS if SECONDS in words else RUNS


def ours():
    rows, held = [], {}  # of each interval, whether it holds the truth; all loads are judged together
    for name, (words, options, rates) in CASES.items():
        if "exact" in rates:
            rows.append(Estimates(words, [], 2).row(name, "exact"))
        for rate in (r for r in rates if r != "exact"):
            told = sampled(words, rate, options, runs_of(words))
            rows.append(told.row(name, rate))
            held.setdefault((re.sub(f", ({'|'.join(LOADS)}),", ", all loads,", name), rate), []).extend(told.held)
    tell_rows("Error of the bytes allocated at a site, against what the programs count themselves", rows)
    for (name, rate), intervals in held.items():
        judge_intervals(name, rate, intervals)


def number_after(pattern, text):
    found = re.search(pattern, text)
    return int(found.group(1).replace(",", "")) if found else None


def bpftrace(program):
    script = f'uprobe:{LIBC}:malloc /comm == "{os.path.basename(program)}"/ {{ @bytes = sum(arg0); }}'
    return subprocess.run(["bpftrace", "-e", script, "-c", program], env=ENV, capture_output=True, text=True, check=True,
                          stdin=subprocess.DEVNULL).stdout


def heaptrack(program):
    """heaptrack's exit status is that of its graphical interface, which cannot start here."""
    return subprocess.run(["heaptrack", "-o", os.path.join(OUT, "accuracy"), program], env=ENV, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, check=False, stdin=subprocess.DEVNULL).stdout


def dhat(program):
    return subprocess.run(["valgrind", "--tool=dhat", f"--dhat-out-file={os.path.join(OUT, 'dhat.out')}", program], env=ENV,
                          capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL).stderr


def others():
    """Totals of other tools, parsed from their outputs."""
    program = path_of("c_fixed")
    plain = truth_in(subprocess.run([program], env=ENV, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL).stdout)
    truth = {"bytes": sum(s["bytes"] for s in plain.values()), "calls": sum(s["allocs"] for s in plain.values())}
    rows = []
    for tool, run_tool, what, pattern in (
            ("bpftrace", bpftrace, "bytes", r"@bytes: (\d+)"),
            ("heaptrack", heaptrack, "calls", r"\ballocations:\s+(\d+)"),
            ("valgrind", dhat, "bytes", r"Total: +([\d,]+) bytes")):
        told = None if missing(tool) else number_after(pattern, run_tool(program))
        if told is not None:
            rows.append([tool if tool != "valgrind" else "valgrind DHAT", what, truth[what], told, percent(told / truth[what] - 1)])
    table("What others say of the same malloc program", ["", "sum of", "truth", "reported", "difference"], rows)


def main():
    os.makedirs(OUT, exist_ok=True)
    ours()
    others()


main()
