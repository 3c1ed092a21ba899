# SPDX-License-Identifier: Apache-2.0
"""
`graph` on a heap of a million objects: how long the answer takes, and with --freeze how long the program is stopped,
as reported and as seen by the program itself.
"""
import os
import re
import subprocess
import time

import harness

OBJECTS = 100_000 if harness.QUICK else 1_000_000


class Holder(harness.Target):
    """A program with a known heap (tests/prog/c_graph.c) and a thread that measures how long it was stopped."""

    def __init__(self):
        self.process = subprocess.Popen([os.path.join(harness.BUILD, "tests", "prog", "c_graph"), str(OBJECTS), "busy"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        self.where = {}
        while (line := self.process.stdout.readline().strip()) != "ready":
            name, address = line.split()
            self.where[name] = address

    def gap_ms(self):
        self.process.stdin.write("gap\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline()) / 1000


def graph(holder, *options):
    holder.gap_ms()
    begun = time.monotonic()
    done = subprocess.run([harness.ALYS, "graph", "-p", str(holder.pid), "--object", holder.where["leaf0"], *options],
                          capture_output=True, text=True, check=True)
    seconds = time.monotonic() - begun
    frozen = re.search(r"frozen for ([0-9.]+) ms", done.stderr)
    return seconds, float(frozen[1]) if frozen else 0.0, holder.gap_ms()


def main():
    holder = Holder()
    rows, worst = [], {}
    kinds = {"running": (), "frozen": ("--freeze",), "frozen, paths": ("--freeze", "--paths")}
    got = {name: [] for name in kinds}
    for _ in range(harness.REPETITIONS):
        for name, options in kinds.items():
            got[name].append(graph(holder, *options))
    for name, runs in got.items():
        seconds, frozen, gap = (sorted(column)[len(runs) // 2] for column in zip(*runs))
        worst[name] = tuple(max(column) for column in zip(*runs))
        rows.append((name, f"{seconds:.2f}", f"{frozen:.0f}", f"{worst[name][1]:.0f}", f"{gap:.0f}"))
    holder.close()
    harness.table(f"object graph of a heap of {OBJECTS:,} objects (medians of {harness.REPETITIONS})",
                  ("how", "s", "frozen ms", "at most", "longest gap the program saw, ms"), rows)
    seconds, frozen = max(w[0] for w in worst.values()), max(w[1] for w in worst.values())
    harness.verdict(f"graph of {OBJECTS:,} objects", "at most 2 s", f"{seconds:.2f} s at most", seconds <= 2)
    harness.verdict("of it frozen", "at most 300 ms", f"{frozen:.0f} ms at most", frozen <= 300)


main()
