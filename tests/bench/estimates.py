# SPDX-License-Identifier: Apache-2.0
"""Estimates of programs that count their own bytes by site: how far they are off, and how often the stated intervals hold the truth."""
import concurrent.futures
import json
import os
import statistics
import subprocess
import tempfile

from harness import ALYS, BUILD, QUICK, table, verdict

RUNS = 8 if QUICK else 100
LOAD_RUNS = 2 if QUICK else 40  # five loads with 40 runs each give the 200 results that judge a stated interval
AT_A_TIME = 4  # most of a run is waiting for the kernel; with windows one at a time, because parallel programs share the CPUs
ENV = {**os.environ, "ALYS_NO_WAIT": "1"}
LOADS = "steady", "bursty", "periodic", "startup", "threads"
# These programs do little but allocate, so 1 % of some seconds is a handful of windows. A server has as many in a minute.
BUDGET, ALWAYS = ["--max-overhead", "3"], ["--max-overhead", "0"]
SECONDS = "4"
WINDOWS = "windows of 3 %"


def path_of(name):
    return os.path.join(BUILD, "tests", "prog", name)


def truth_in(text):
    return json.loads(next(line for line in text.splitlines() if line.startswith("{")))["sites"]


def estimated(trace):
    """{site: (bytes, standard error)}"""
    said = subprocess.run([ALYS, "report", "--show", "alloc", "-f", "json", trace], capture_output=True, text=True, check=True)
    return {row["site"].split()[0]: (row["bytes"], row.get("error") or 0) for row in json.loads(said.stdout)["rows"]}


def run(folder, number, words, options):
    """Truth, estimate and standard error of each site."""
    trace = os.path.join(folder, f"{number}.alys")
    done = subprocess.run([ALYS, "--force", "-q", "-o", trace, *options, "--", path_of(words[0]), *words[1:]], env=ENV,
                          capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    told = estimated(trace)
    os.unlink(trace)
    return [(site["bytes"], *told.get(name, (0, 0))) for name, site in truth_in(done.stdout).items() if site["bytes"]]


def percent(share):
    return f"{100 * share:.1f} %"


class Estimates:
    """What `runs` recordings of a program say of its sites."""

    def __init__(self, words, options, runs):
        self.runs = runs
        with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(
                1 if options[-2:] == BUDGET else AT_A_TIME) as pool:
            jobs = [pool.submit(run, folder, i, words, options) for i in range(runs)]
            self.sites = [site for job in jobs for site in job.result()]
        self.met = [site for site in self.sites if site[1]]
        self.off = statistics.median(abs(told - truth) / truth for truth, told, _ in self.sites)
        # Of each stated interval: does it hold the truth?
        self.held = [abs(told - truth) <= 1.96 * error for truth, told, error in self.met]

    def row(self, name, rate):
        """Actual error, stated error and coverage of the stated intervals."""
        if rate == "exact":
            return [name, rate, self.runs, percent(self.off), "-", f"- / {len(self.sites)}", "-"]
        stated = statistics.median(1.96 * error / truth for truth, _, error in self.met)
        return [name, rate, self.runs, percent(self.off), percent(stated), f"{len(self.met)} / {len(self.sites)}",
                f"{statistics.mean(self.held):.3f}"]


def sampled(words, rate, options, runs):
    return Estimates(words, ["-s", f"bytes:{rate}", *options], runs)


def tell_rows(title, rows):
    table(title, ["", "rate", "runs", "error, median", "95 % interval, ±", "with an interval / sites", "intervals that hold the truth"],
          rows)


def judge_intervals(name, rate, held):
    share = statistics.mean(held)
    verdict(f"intervals that hold the truth, {name}, bytes:{rate}", "at least 0.93", f"{share:.3f}", share >= 0.93)
