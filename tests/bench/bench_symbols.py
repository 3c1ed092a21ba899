# SPDX-License-Identifier: Apache-2.0
"""
Symbolization: the same addresses by alys-bpf, llvm-symbolizer and eu-addr2line; the worker's peak memory; and the time
from the end of a recording to the finished file.
"""
import os
import re
import shutil
import subprocess
import time

import harness

SYMDUMP = os.path.join(harness.BUILD, "tests", "symdump")
LLVM = shutil.which("llvm-symbolizer-14") or shutil.which("llvm-symbolizer")
EU = None if harness.QUICK else shutil.which("eu-addr2line")  # takes ten to thirty seconds per file
OBJDUMP = shutil.which("objdump")
REPETITIONS = harness.REPETITIONS
EVENTS, STACKS = 1_000_000, 5_000


def instructions(path):
    text = subprocess.run([OBJDUMP, "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^ +([0-9a-f]+):", text, re.M)


def spread(paths, most):
    """{path: addresses of instructions}, spread evenly over all files."""
    found = {path: instructions(path) for path in paths}
    step = max(1.0, sum(map(len, found.values())) / most)
    return {path: [at[int(i * step)] for i in range(int(len(at) / step))] for path, at in found.items()}


def libraries(path):
    text = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
    return [os.path.realpath(p) for p in re.findall(r"=> (/\S+)", text)]


def timed(argv, text):
    start = time.monotonic()
    done = subprocess.run(argv, input=text, capture_output=True, text=True, errors="replace")
    return time.monotonic() - start, done


class Case:
    """The addresses of some files, and how fast each tool answers."""

    def __init__(self, name, addresses, limit=None):
        self.name, self.addresses, self.limit = name, addresses, limit
        self.total = sum(map(len, addresses.values()))
        self.text = "".join(f"{path} 0x{a}\n" for path, at in addresses.items() for a in at)

    def ours(self):
        seconds, done = timed([SYMDUMP], self.text)
        self.memory = int(re.search(r"worker (\d+) kB", done.stderr)[1]) / 1024
        self.exact = len(re.findall(r"^[0-9a-f]+ 3 0 ", done.stdout, re.M))
        return seconds

    def llvm(self):
        return timed([LLVM, "--inlines"], self.text)[0]

    def eu(self):
        """eu-addr2line, run once because it is much slower; one file at a time, as it requires."""
        seconds, self.eu_lines = 0.0, 0
        for path, at in self.addresses.items():
            took, done = timed([EU, "-i", "-f", "-C", "-e", path], "".join(f"0x{a}\n" for a in at))
            seconds += took
            self.eu_lines += sum(1 for line in done.stdout.splitlines()[1::2] if not line.startswith("??"))
        return seconds

    def row(self):
        cases = {"ours": self.ours}
        if LLVM:
            cases["llvm"] = self.llvm
        self.medians = m = harness.interleave(cases, REPETITIONS)
        if EU:
            m["eu"] = self.eu()

        def against(tool, remark=""):
            return f"{m[tool]:.2f} ({m[tool] / m['ours']:.1f}x){remark}" if tool in m else "-"

        # eu-addr2line finds no lines without .debug_aranges, which Crystal's and clang's programs lack.
        nothing = " *" if EU and self.eu_lines < self.total / 100 and self.exact else ""
        return (self.name, self.total, self.exact, f"{m['ours']:.2f}", against("llvm"), against("eu", nothing),
                f"{self.memory:.0f}")

    def judge(self):
        m = self.medians
        if self.limit:
            harness.verdict(f"{self.name}: names of 10,000 addresses", f"at most {self.limit} s", f"{m['ours']:.2f} s",
                            m["ours"] <= self.limit)
        else:
            for tool, called in (("llvm", "llvm-symbolizer"), ("eu", "eu-addr2line")):
                if tool in m:
                    times = m[tool] / m["ours"]
                    harness.verdict(f"{self.name}: names against {called}", "at least 2x faster", f"{times:.1f}x", times >= 2)
        harness.verdict(f"{self.name}: memory of the worker", "at most 300 MB", f"{self.memory:.0f} MB", self.memory <= 300)


def cases():
    for name, path in (("debug", "server.debug"), ("--release", "server")):
        path = os.path.join(harness.BUILD, "demo", path)
        own = spread([path], 50000)
        yield Case(f"Crystal server, {name}, + libraries", {**own, **spread(libraries(path), 50000)})
        yield Case(f"Crystal server, {name}, alone", spread([path], 100000))
    for name, path in (("libLLVM-14 (no DWARF)", "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1"),
                       ("node", shutil.which("node"))):
        if path and os.path.exists(path):
            yield Case(name, spread([os.path.realpath(path)], 10000), limit=1)


def finish():
    """Seconds from the last event to the finished file: the rest of the ring, all names, the end of the file."""
    target = harness.Target(harness.program("stacks"), str(EVENTS))
    recording = harness.Recording(target.pid, "--backtrace", "full")
    target.run()
    begun = time.monotonic()
    recording.stop()
    target.close()
    return recording.ended - begun, recording.counts


def judge_finish():
    runs = sorted((finish() for _ in range(min(3, REPETITIONS))), key=lambda run: run[0])
    seconds, counts = runs[len(runs) // 2]
    events, stacks = counts["recorded"], counts.get("#stacks", 0)
    complete = events >= EVENTS and stacks >= STACKS
    harness.verdict(f"end of recording to finished file, {events:,} events, {stacks:,} stacks, full", "at most 2 s",
                    f"{seconds:.2f} s" + ("" if complete else " (with too few events or stacks)"), seconds <= 2 and complete)


def main():
    subprocess.run(["make", "-s", "build/tests/symdump", "build/tests/bench/stacks", "build/demo/server",
                    "build/demo/server.debug"], cwd=harness.ROOT, check=True)
    every = list(cases())
    rows = [c.row() for c in every]
    harness.table(f"Names, files, lines, inlined calls of addresses: seconds, median of {REPETITIONS} (ratio to ours)",
                  ["file", "addresses", "with line", "alys-bpf", "llvm-symbolizer-14", "eu-addr2line", "worker MB"], rows)
    if EU:
        print("  * eu-addr2line finds hardly any line there: the file has no .debug_aranges, which it goes by")
    for c in every:
        c.judge()
    judge_finish()


main()
