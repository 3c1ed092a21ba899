# SPDX-License-Identifier: Apache-2.0
"""Heaps of Erlang processes: what a VM pays that collects some 50,000 times a second of CPU time, and how true the estimates are."""
import json
import os
import shutil
import statistics
import subprocess

import harness
from harness import ALYS, QUICK, REPETITIONS, Recording, Target, interleave, table, verdict

MESSAGES = 10_000 if QUICK else 20_000
BUDGET = "--sample bytes:512k"
CASES = {"untraced": None, "all": (), "all, without stacks": ("--backtrace", "none"), BUDGET: ("--sample", "bytes:512k"),
         "--sample bytes:4k": ("--sample", "bytes:4k")}


def compile_to(folder):
    os.makedirs(folder, exist_ok=True)
    subprocess.run(["erlc", "-o", folder, os.path.join(harness.ROOT, "tests/prog/erlang/words.erl")], check=True)
    return folder


def total(trace):
    """Bytes, and their standard error."""
    done = subprocess.run([ALYS, "report", "--by", "process", "--show", "alloc", "-f", "json", trace], capture_output=True, text=True,
                          check=True)
    found = json.loads(done.stdout)["total"]
    return found["bytes"], found["error"]


def run(folder, options, facts):
    """CPU microseconds a collection."""
    # Schedulers that have nothing to do would spin, and that would be CPU time, too.
    target = Target(shutil.which("erl"), "+sbwt", "none", "+JPperf", "true", "-noshell", "-pa", folder,
                    "-run", "words", "main", "messages", str(MESSAGES))
    try:
        tracer = None if options is None else Recording(target.pid, "--allocator", "beam", *options, output="beam.alys")
        began = harness.cpu_of(target.pid)
        truth = json.loads(" ".join(target.run()))
        took = harness.cpu_of(target.pid) - began
    finally:
        target.close()
    fact = {"rate": truth["collections"] / took, "each": took / truth["collections"] * 1e6}
    if tracer:
        got, error = total(tracer.stop().path)
        fact["off"] = 100 * (got / truth["reclaimed"] / 8 - 1)
        fact["stated"] = 100 * error / got
    facts.append(fact)
    return fact["each"]


def median(facts, name, form):
    values = [abs(f[name]) for f in facts if name in f]
    return format(statistics.median(values), form) if values else "-"


def main():
    folder = compile_to(os.path.join(harness.OUT, "erlang"))
    facts = {name: [] for name in CASES}
    interleave({n: lambda n=n, o=o: run(folder, o, facts[n]) for n, o in CASES.items()}, REPETITIONS)
    # Others make a run dearer, and never cheaper.
    got = {name: min(f["each"] for f in facts[name]) for name in CASES}
    cost = {name: 100 * (each / got["untraced"] - 1) for name, each in got.items()}
    table(f"Erlang processes that exchange messages, {median(facts['untraced'], 'rate', ',.0f')} collections a second of CPU time, "
          f"the cheapest of {REPETITIONS} runs; errors of the total of words, medians",
          ["", "CPU us a collection", "cost %", "error %", "standard error stated, %"],
          [(n, f"{each:.2f}", f"{cost[n]:+.1f}", median(facts[n], "off", ".1f"), median(facts[n], "stated", ".1f"))
           for n, each in got.items()])
    verdict("CPU time that --sample costs an Erlang VM that collects 50,000 times a second", "at most 1 %", f"{cost[BUDGET]:.1f} %",
            cost[BUDGET] <= 1)


main()
