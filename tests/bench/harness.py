# SPDX-License-Identifier: Apache-2.0
"""Runs targets with and without a tracer; medians of interleaved repetitions."""
import functools
import json
import os
import re
import signal
import statistics
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, "build")
ALYS = os.path.join(BUILD, "alys-bpf")
OUT = os.path.join(BUILD, "bench")
QUICK = bool(os.environ.get("BENCH_QUICK"))
REPETITIONS = int(os.environ.get("REPETITIONS", "3" if QUICK else "7"))


def program(name):
    return os.path.join(BUILD, "tests", "bench", name)


class Target:
    """A program that prints "ready", waits for a byte, prints its result, waits for the end of stdin."""

    def __init__(self, *argv, before=(), stderr=None):
        self.process = subprocess.Popen([*before, *argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        stderr=stderr)
        self.pid = self.process.pid
        line = self.process.stdout.readline()
        while line and line.strip() != "ready":
            line = self.process.stdout.readline()

    def run(self):
        self.process.stdin.write("x")
        self.process.stdin.flush()
        return self.process.stdout.readline().split()

    def was_stopped(self):
        """Whether the process was ever stopped: the kernel reports stops and continues to the parent."""
        return os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WCONTINUED | os.WNOHANG | os.WNOWAIT) is not None

    def close(self):
        self.process.stdin.close()
        self.process.wait(20)


class Recording:
    """alys-bpf attached to a process; after stop(): counts, bytes, cpu seconds, peak memory in MB, when it ended."""

    def __init__(self, pid, *options, output="bench.alys"):
        os.makedirs(OUT, exist_ok=True)
        self.path = os.path.join(OUT, output)
        self.process = subprocess.Popen([ALYS, "-v", "-p", str(pid), "-o", self.path, "--force", *options],
                                        stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if "recording" in line:
                break
        else:
            raise RuntimeError("alys-bpf did not start")

    def stop(self):
        # A program that ended may have ended the recording already.
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        text = self.process.stderr.read()
        _, _, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = 0
        self.ended = time.monotonic()
        self.cpu = usage.ru_utime + usage.ru_stime
        self.peak_mb = usage.ru_maxrss / 1024
        self.bytes = os.path.getsize(self.path)
        self.counts = ledger(self.path)
        self.text = text
        return self


def cpu_of(pid):
    """CPU seconds of a process so far: all its threads, not its children."""
    return time.clock_gettime(~pid << 3 | 2)


def ledger(path):
    """The counters of `alys-bpf info`, by name; sums of classes under "hit", "recorded", "skipped", "lost"."""
    text = subprocess.run([ALYS, "info", path], capture_output=True, text=True, check=True).stdout
    counts = {"hit": 0, "recorded": 0, "skipped": 0, "lost": 0}
    for line in text.splitlines():
        if not line.startswith("  "):
            continue
        for kind in (*counts, "note"):
            if line.startswith("  " + kind + " "):
                name, value = line[len(kind) + 3:].split()[:2]
                if kind in ("hit", "recorded", "skipped", "lost"):
                    counts[kind] += int(value)
                counts["#" + name] = int(value)
                break
    return counts


def interleave(cases, repetitions):
    """cases: {name: function that returns a number}. Runs them in turns, so that a slow minute affects all of them."""
    got = {name: [] for name in cases}
    for _ in range(repetitions):
        for name, run in cases.items():
            got[name].append(run())
    return {name: statistics.median(values) for name, values in got.items()}


def verdict(figure, wanted, measured, reached):
    """Prints one line for a figure with a goal. It is not asserted: the machine is shared and noisy."""
    print(f"  figure: {figure}; wanted {wanted}; measured {measured}; reached: {'yes' if reached else 'NO'}")


def ratio(value, base):
    return f"{value / base:.2f}x" if value is not None and base else "-"


def table(title, heads, rows):
    """Prints a table, and saves it for docs/overhead.md when run by scripts/bench."""
    keep(title, heads, rows)
    print(f"\n{title}")
    cells = [heads] + [[str(c) for c in row] for row in rows]
    widths = [max(len(r[i]) for r in cells) for i in range(len(heads))]
    for n, row in enumerate(cells):
        print("  " + "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))))
        if n == 0:
            print("  " + "  ".join("-" * w for w in widths))


def kept_in(part):
    return os.path.join(OUT, f"{part}.tables")


def keep(title, heads, rows):
    part = os.environ.get("BENCH_PART")
    if part:
        os.makedirs(OUT, exist_ok=True)
        with open(kept_in(part), "a") as f:
            json.dump({"title": title, "heads": heads, "rows": rows, "machine": machine()}, f)
            f.write("\n")


@functools.cache
def stop_us():
    """What a probe costs here: it decides most of the figures, and differs tenfold between machines."""
    told = subprocess.run([ALYS, "doctor"], capture_output=True, text=True).stdout
    found = re.search(r"^a probe +([\d.]+) us", told, re.MULTILINE)
    return f"a probe takes {found[1]} us, " if found else ""


def machine():
    model = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), "unknown CPU")
    return (f"{model}, {os.cpu_count()} CPUs, Linux {os.uname().release}, {stop_us()}load {os.getloadavg()[0]:.1f}, "
            f"{time.strftime('%Y-%m-%d')}")
