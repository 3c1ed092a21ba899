# SPDX-License-Identifier: Apache-2.0
"""Errors of estimates against the programs' own counts, and coverage of the stated intervals."""
import concurrent.futures
import json
import os
import re
import statistics
import subprocess
import tempfile

from harness import ALYS, BUILD, OUT, QUICK, table, verdict
from tracers import missing

RUNS = 8 if QUICK else 100
WINDOW_RUNS = 2 if QUICK else 40  # five loads with 40 runs each give the 200 results that judge a stated interval
AT_A_TIME = 4  # most of a run is waiting for the kernel; with windows one at a time, because parallel programs share the CPUs
ENV = {**os.environ, "ALYS_NO_WAIT": "1"}
LIBC = "/lib/x86_64-linux-gnu/libc.so.6"
LOADS = "steady", "bursty", "periodic", "startup", "threads"
# These programs do little but allocate, so 1 % of some seconds is a handful of windows. A server has as many in a minute.
BUDGET, ALWAYS = ["--max-overhead", "3"], ["--max-overhead", "0"]
SECONDS = "4"
WINDOWS = "windows of 3 %"

# What is recorded, and how: program and words, options, rates.
CASES = {
    "malloc": (["c_fixed"], ALWAYS, ("exact", "4k", "512k")),
    "libgc, at calls": (["c_gcfixed"], [*ALWAYS, "--sample-at", "call"], ("exact", "4k", "512k")),
    "libgc, at refills": (["c_gcfixed", "blocks"], [*ALWAYS, "--sample-at", "refill"], ("4k", "512k")),
    **{f"malloc, {load}, {WINDOWS}": (["c_rates", SECONDS, load, "24000"], BUDGET, ("4k",)) for load in LOADS},
    **{f"libgc, {load}, {how}": (["c_gcrates", SECONDS, load], options, ("4k",))
       for load in LOADS for how, options in ((WINDOWS, BUDGET), ("always on", ALWAYS))},
}


def path_of(name):
    return os.path.join(BUILD, "tests", "prog", name)


def truth_in(text):
    return json.loads(next(line for line in text.splitlines() if line.startswith("{")))["sites"]


def estimates(trace):
    """{site: (bytes, standard error)}"""
    said = subprocess.run([ALYS, "report", "--show", "alloc", "-f", "json", trace], capture_output=True, text=True, check=True)
    return {row["site"].split()[0]: (row["bytes"], row.get("error") or 0) for row in json.loads(said.stdout)["rows"]}


def run(folder, number, words, options):
    """Truth, estimate and standard error of each site."""
    trace = os.path.join(folder, f"{number}.alys")
    done = subprocess.run([ALYS, "--force", "-q", "-o", trace, *options, "--", path_of(words[0]), *words[1:]], env=ENV,
                          capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    told = estimates(trace)
    os.unlink(trace)
    return [(site["bytes"], *told.get(name, (0, 0))) for name, site in truth_in(done.stdout).items() if site["bytes"]]


def sites_of(words, options, runs):
    at_a_time = 1 if options[-2:] == BUDGET else AT_A_TIME
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(at_a_time) as pool:
        jobs = [pool.submit(run, folder, i, words, options) for i in range(runs)]
        return [site for job in jobs for site in job.result()]


def percent(share):
    return f"{100 * share:.1f} %"


def runs_of(words):
    return WINDOW_RUNS if SECONDS in words else RUNS


def error_of(sites):
    return statistics.median(abs(told - truth) / truth for truth, told, _ in sites)


def line(name, rate, sites, runs):
    """Actual error, stated error and coverage of the stated intervals; empty without samples."""
    off = error_of(sites)
    if rate == "exact":
        return [name, rate, runs, percent(off), "-", f"- / {len(sites)}", "-"], None
    met = [site for site in sites if site[1]]
    stated = statistics.median(1.96 * error / truth for truth, _, error in met)
    held = [abs(told - truth) <= 1.96 * error for truth, told, error in met]
    return [name, rate, runs, percent(off), percent(stated), f"{len(met)} / {len(sites)}", f"{statistics.mean(held):.3f}"], held


def ours():
    rows, off = [], {}
    held = {}  # whether each interval holds the truth; loads of one allocator are judged together
    for name, (words, options, rates) in CASES.items():
        if "exact" in rates:
            rows.append(line(name, "exact", sites_of(words, [], 2), 2)[0])
        for rate in (r for r in rates if r != "exact"):
            runs = runs_of(words)
            sites = sites_of(words, ["-s", f"bytes:{rate}", *options], runs)
            row, intervals = line(name, rate, sites, runs)
            rows.append(row)
            off[name] = error_of(sites)
            held.setdefault((re.sub(f", ({'|'.join(LOADS)}),", ", all loads,", name), rate), []).extend(intervals)
    table("Error of the bytes allocated at a site, against what the programs count themselves",
          ["", "rate", "runs", "error, median", "95 % interval, ±", "with an interval / sites", "intervals that hold the truth"], rows)
    for (name, rate), intervals in held.items():
        share = statistics.mean(intervals)
        verdict(f"intervals that hold the truth, {name}, bytes:{rate}", "at least 0.93", f"{share:.3f}", share >= 0.93)
    for load in LOADS:
        times = off[f"libgc, {load}, {WINDOWS}"] / off[f"libgc, {load}, always on"]
        verdict(f"error with a collector's counter, {load}, {WINDOWS} against always on", "at most 1.5x", f"{times:.2f}x", times <= 1.5)


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
