# SPDX-License-Identifier: Apache-2.0
"""
(d) The Crystal server under wrk with each kind of tracing. On a busy machine the server's CPU time per request is more
meaningful than its requests per second. What a budget costs is less than what one server differs from another, and from itself a
second later, so it is measured of one that has a twin: with and without, in turns.
"""
import math
import statistics
import time

import chart
import harness
from harness import QUICK, REPETITIONS, Recording, table, verdict
from server import Server, Twins
from tracers import Floor

SECONDS = 1 if QUICK else 4
# The cost of tracing a request depends on how much it allocates: a short answer and a long one.
PATHS = {"/": "short", "/page/7": "long"}
FLOOR = "floor: empty probes at refills"
BUDGET = "budget of 1 %"
PAIRS = 2 if QUICK else 17


def recording(*options):
    return lambda pid: Recording(pid, *options, output="server.alys")


def with_budget(n):
    return recording("--sample", f"bytes:{n}", "--max-overhead", "1")


def cases():
    """{row: function that attaches its tracer to a process}"""
    rows = {"untraced": None, "exact, full stacks": recording()}
    for n in ("512k", "4k"):
        for where in ("call", "refill"):
            rows[f"sampled {n} at {where}s"] = recording("--sample", f"bytes:{n}", "--max-overhead", "0", "--sample-at", where)
        rows[f"sampled {n}, {BUDGET}"] = with_budget(n)
    rows[FLOOR] = lambda pid: Floor(pid, "refill")
    return rows


def allocations(path):
    """The exact number of allocations per request."""
    server = Server()
    try:
        tracer = recording("--no-free-stacks")(server.pid)
        requests = server.load(1, path)
        tracer.stop()
        return (tracer.counts["#recorded-alloc"] + tracer.counts.get("#recorded-realloc", 0)) / requests
    finally:
        server.close()


def timed(server, path, tracer, facts):
    """Requests per second; adds the CPU times of server and tracer to `facts`, and the tracer's totals when it has ended."""
    pids = [p.pid for p in (server, tracer and tracer.process) if p]
    began, before = time.monotonic(), [harness.cpu_of(pid) for pid in pids]
    rate = server.load(SECONDS, path)
    took, busy = time.monotonic() - began, [harness.cpu_of(pid) - cpu for pid, cpu in zip(pids, before)]
    fact = {"each": busy[0] / (rate * SECONDS) * 1e6}
    facts.append(fact)
    if tracer:
        counts = getattr(tracer.stop(), "counts", {})
        events = counts.get("recorded")
        fact.update(events=events, lost=counts.get("lost"), bytes=tracer.bytes / max(events, 1) if counts else None,
                    cpu=busy[1] / took * 100, peak=tracer.peak_mb)
    return rate


def run(path, attach, facts):
    server = Server()
    try:
        tracer = attach(server.pid) if attach else None
        # Sites that could not be calibrated are on trial during their first calls; after that, probes move.
        server.load(1, path)
        return timed(server, path, tracer, facts)
    finally:
        server.close()


def median(facts, name):
    values = [f[name] for f in facts if f.get(name) is not None]
    return statistics.median(values) if values else None


def line(row, rate, untraced, facts):
    cells = [row, f"{rate:.0f}", f"{rate / untraced:.3f}"]
    for name, form in (("each", ".1f"), ("events", ".0f"), ("lost", ".0f"), ("bytes", ".1f"), ("cpu", ".1f"), ("peak", ".0f")):
        value = median(facts, name)
        cells.append(format(value, form) if value is not None else "-")
    return cells


def tell_floor(kind, row, facts):
    """Prints what share of a row's cost comes from traps alone, which a server with frequent refills cannot avoid."""
    untraced, floor, ours = (median(facts[name], "each") for name in ("untraced", FLOOR, row))
    share = f" ({(floor - untraced) / (ours - untraced):.0%})" if ours > untraced else ""
    print(f"  floor: a request, {kind} answers, takes the server {untraced:.1f} us; {row}: {ours - untraced:.1f} us more, of which "
          f"empty probes on the same places take {floor - untraced:.1f}{share}; at most {untraced / floor:.3f} of untraced is "
          "left by them alone")


def measure(path, kind):
    rows = cases()
    facts = {row: [] for row in rows}
    rate = harness.interleave({row: (lambda row=row, o=o: run(path, o, facts[row])) for row, o in rows.items()}, REPETITIONS)
    table(f"(d) requests a second of the Crystal server (--release) under wrk, {kind} answers ({path}) of "
          f"{allocations(path):.0f} allocations, median of {REPETITIONS}; a second before them is traced, too, and not timed",
          ["", "requests/s", "of untraced", "server's CPU us each", "events", "lost", "bytes/event", "tracer CPU %", "peak MB"],
          [line(row, rate[row], rate["untraced"], facts[row]) for row in rows])
    chart.bars(f"server-{kind}", f"Requests a second of the Crystal server, {kind} answers",
               [(row if row in ("untraced", FLOOR) else f"alys-bpf {row}", value) for row, value in rate.items()], "/s")
    for n, wanted in (("512k", 0.97), ("4k", 0.90)):
        # Sampling at refills is the default for libgc.
        row = f"sampled {n} at refills"
        share = rate[row] / rate["untraced"]
        verdict(f"(d) requests/s, {kind} answers, {row}", f"at least {wanted:.2f} of untraced", f"{share:.3f}", share >= wanted)
        tell_floor(kind, row, facts)


def with_tracer(twins, attach):
    """The server's cost while it is traced. The first second does not count: probes move, and sites may be on trial."""
    tracer = attach(twins.server.pid) if attach else None
    time.sleep(1)
    cost = twins.cost(SECONDS)
    if tracer:
        tracer.stop()
    return cost


def interval(ratios):
    """Median, and the interval that holds that of all such ratios in 95 % of cases, whatever their distribution; of few: all of them."""
    n, low, tail = len(ratios), 0, 2 / 2 ** len(ratios)
    while tail + 2 * math.comb(n, low + 1) / 2**n <= 0.05:
        low += 1
        tail += 2 * math.comb(n, low) / 2**n
    ordered = sorted(ratios)
    return statistics.median(ordered), ordered[low], ordered[n - 1 - low]


def measure_budget(path, kind):
    rows = {"nothing, to know the noise": None}
    rows |= {f"sampled {n}, {BUDGET}": with_budget(n) for n in ("512k", "4k")}
    found = {row: [] for row in rows}
    with Twins(path) as twins:
        twins.cost(2)
        before = twins.cost(SECONDS)
        for _ in range(PAIRS):
            for row, attach in rows.items():
                during, after = with_tracer(twins, attach), twins.cost(SECONDS)
                found[row].append(during / math.sqrt(before * after))
                before = after
    told = {row: interval(ratios) for row, ratios in found.items()}
    table(f"(d) CPU time of a request against an untraced twin of the server, {kind} answers ({path}), with each of these over before and after, "
          f"{PAIRS} pairs of {SECONDS} s", ["", "of untraced, median", "95 % interval"],
          [[row, f"{middle:.3f}", f"{low:.3f} to {high:.3f}"] for row, (middle, low, high) in told.items()])
    for row, (middle, low, high) in told.items():
        if rows[row]:
            verdict(f"(d) CPU time of a request, {kind} answers, {row}", "at most 1.01 of untraced",
                    f"{middle:.3f} ({low:.3f} to {high:.3f})", middle <= 1.01)


def main():
    for path, kind in PATHS.items():
        measure(path, kind)
        measure_budget(path, kind)


main()
