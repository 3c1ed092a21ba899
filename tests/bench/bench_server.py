"""(d) The Crystal server under wrk: requests a second, however it is traced."""
import statistics
import subprocess

import chart
import harness
from harness import ALYS, QUICK, REPETITIONS, Recording, table, verdict
from server import Server

SECONDS = 1 if QUICK else 4
# What a request costs to trace is what it allocates: a short answer and a long one.
PATHS = {"/": "short", "/page/7": "long"}


def cases():
    rows = {"untraced": None, "exact, full stacks": ()}
    text = subprocess.run([ALYS, "--help"], capture_output=True, text=True, check=True).stdout
    for n in ("512k", "4k"):
        if "--sample-at" not in text:
            rows[f"sampled {n}"] = ("--sample", f"bytes:{n}")
            continue
        for where in ("call", "refill"):
            rows[f"sampled {n} at {where}s"] = ("--sample", f"bytes:{n}", "--sample-at", where)
    return rows


def allocations(path):
    """Of one request, exactly."""
    server = Server()
    try:
        recording = Recording(server.pid, "--no-free-stacks", output="server.alys")
        requests = server.load(1, path)
        recording.stop()
        return (recording.counts["#recorded-alloc"] + recording.counts.get("#recorded-realloc", 0)) / requests
    finally:
        server.close()


def run(path, options, facts):
    server = Server()
    try:
        server.load(1, path)
        if options is None:
            return server.load(SECONDS, path)
        recording = Recording(server.pid, *options, output="server.alys")
        rate = server.load(SECONDS, path)
        recording.stop()
        facts.append((recording.counts["recorded"], recording.counts["lost"], recording.bytes, recording.cpu,
                      recording.peak_mb))
        return rate
    finally:
        server.close()


def line(row, rate, untraced, facts):
    cells = [row, f"{rate:.0f}", f"{rate / untraced:.3f}"]
    if not facts:
        return cells + ["-"] * 5
    events, lost, size, cpu, peak = (statistics.median(f[n] for f in facts) for n in range(5))
    return cells + [f"{events:.0f}", f"{lost:.0f}", f"{size / max(events, 1):.1f}", f"{cpu / SECONDS * 100:.0f}",
                    f"{peak:.0f}"]


def measure(path, kind):
    rows = cases()
    facts = {row: [] for row in rows}
    rate = harness.interleave({row: (lambda row=row, o=o: run(path, o, facts[row])) for row, o in rows.items()}, REPETITIONS)
    table(f"(d) requests a second of the Crystal server (--release) under wrk, {kind} answers ({path}) of "
          f"{allocations(path):.0f} allocations, median of {REPETITIONS}",
          ["", "requests/s", "of untraced", "events", "lost", "bytes/event", "tracer CPU %", "peak MB"],
          [line(row, rate[row], rate["untraced"], facts[row]) for row in rows])
    chart.bars(f"server-{kind}", f"Requests a second of the Crystal server, {kind} answers",
               [(row if row == "untraced" else f"alys-bpf {row}", value) for row, value in rate.items()], "/s")
    for n, wanted in (("512k", 0.97), ("4k", 0.90)):
        # By refill is what libgc gets unless asked otherwise.
        row = next(r for r in (f"sampled {n} at refills", f"sampled {n}") if r in rate)
        share = rate[row] / rate["untraced"]
        verdict(f"(d) requests/s, {kind} answers, {row}", f"at least {wanted:.2f} of untraced", f"{share:.3f}", share >= wanted)


def main():
    for path, kind in PATHS.items():
        measure(path, kind)


main()
