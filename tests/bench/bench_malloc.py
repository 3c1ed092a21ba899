# SPDX-License-Identifier: Apache-2.0
"""
Heaps of glibc's malloc: how long a census and a graph of a million blocks take, how long the program is stopped for them, and how
often a census is what the program counts: frozen, and while it allocates.
"""
import json
import os
import re
import statistics
import subprocess
import time

import harness

BLOCKS = 100_000 if harness.QUICK else 1_000_000
EXACT_RUNS = 10 if harness.QUICK else 50
CHURNED = 64  # blocks of c_malloc's when it allocates and frees all the time
IN_HAND = 2   # in a call of malloc or free at that moment
FREE = ("fastbin", "unsorted", "small_bin", "large_bin", "top")


class Program(harness.Target):
    """One of tests/prog; `lines` is what it printed at first."""

    def __init__(self, name, *args, until):
        self.process = subprocess.Popen([os.path.join(harness.BUILD, "tests", "prog", name), *args], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        self.lines = []
        while not self.lines or not self.lines[-1].startswith(until):
            self.lines.append(self.process.stdout.readline())

    def say(self, letter):
        self.process.stdin.write(letter)
        self.process.stdin.flush()


def timed(verb, pid, *options):
    """Milliseconds of the whole command, and of the time in which the program was stopped; on a busy machine it may take too long."""
    begun = time.monotonic()
    done = subprocess.run([harness.ALYS, verb, "-p", str(pid), *options], capture_output=True, text=True)
    whole = (time.monotonic() - begun) * 1e3
    frozen = re.search(r"frozen for ([0-9.]+) ms", done.stdout + done.stderr)
    return whole, float(frozen[1]) if frozen and not done.returncode else float("inf") if done.returncode else 0.0


def large_heap():
    holder = Program("cpp_holds", str(BLOCKS), until="ready")
    kinds = {"census": ("census", "--top", "5"), "census, frozen": ("census", "--top", "5", "--freeze"),
             "report --heap, frozen": ("census", "--heap", "--top", "5", "--freeze"),
             "graph, frozen": ("graph", "--type", "zoo::Leaf", "--paths", "--freeze")}
    got = {name: [] for name in kinds}
    for _ in range(harness.REPETITIONS):
        for name, (verb, *options) in kinds.items():
            got[name].append(timed(verb, holder.pid, *options))
    holder.close()
    rows = [(name, *(f"{f(column):.0f}" for column in zip(*runs) for f in (statistics.median, max))) for name, runs in got.items()]
    harness.table(f"a malloc heap of {BLOCKS:,} blocks, ms ({harness.REPETITIONS} runs)",
                  ("what", "whole command", "at most", "frozen", "at most"), rows)
    medians = {name: [statistics.median(column) for column in zip(*runs)] for name, runs in got.items()}
    harness.verdict(f"census of {BLOCKS:,} blocks", "at most 300 ms", f"{medians['census'][0]:.0f} ms", medians["census"][0] <= 300)
    frozen = medians["census, frozen"][1]
    harness.verdict("of it frozen", "at most 100 ms", f"{frozen:.0f} ms", 0 < frozen <= 100)


def census(pid, *options):
    done = subprocess.run([harness.ALYS, "census", "-p", str(pid), "-f", "json", *options], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def agrees(answer, truth):
    sizes = {int(m[1]): row["count"] for row in answer["rows"] if (m := re.fullmatch(r"\((\d+) bytes\)", row["type"]))}
    extra = {size: n for size in sizes if (n := sizes[size] - truth["sizes"].get(str(size), 0))}
    return (sum(a["bytes"] for a in answer["arenas"]) == truth["arena"] and answer["odd"] == 0 and
            sum(answer[f"{k}_bytes"] for k in FREE) == truth["free"] and answer["mmapped_bytes"] == truth["mmapped"], extra)


def exactness():
    """Blocks that are not the program's (tables of threads' caches) are the same in all readings."""
    program = Program("c_malloc", "1", "3", until="{")
    truth, right, own = json.loads(program.lines[-1]), 0, None
    for _ in range(EXACT_RUNS):
        sums, extra = agrees(census(program.pid, "--freeze"), truth)
        own = extra if own is None else own
        right += sums and extra == own
        program.say("n")
        truth = json.loads(program.process.stdout.readline())
    kept = census(program.pid, "--freeze")["total"]["count"]
    program.say("c")
    while census(program.pid, "--freeze")["total"]["count"] < kept + CHURNED:
        pass
    refused, stated, most = 0, 0, 0
    for _ in range(EXACT_RUNS):
        answer = census(program.pid)
        refused += answer is None
        off = max(0, abs(answer["total"]["count"] - kept - CHURNED) - IN_HAND) if answer else 0
        most = max(most, off)
        stated += answer is not None and off <= answer["odd"]
    program.close()
    harness.verdict(f"frozen, exact in {EXACT_RUNS} different heaps", "all", f"{right} of {EXACT_RUNS}", right == EXACT_RUNS)
    harness.verdict("while it allocates: refused, or no more blocks off than are said not to fit together", "all",
                    f"{stated} told, {refused} refused; at most {most} blocks off", stated + refused == EXACT_RUNS)


large_heap()
exactness()
