# SPDX-License-Identifier: Apache-2.0
"""Cost of tracing per allocation, compared with no tracing, empty probes and other tracers; and cost to untraced processes."""
import os
import statistics

import chart
import harness
from harness import QUICK, REPETITIONS, Recording, Target, program, ratio, table, verdict
from tracers import Bpftrace, Dhat, Floor, Heaptrack, missing

SECONDS = 0.5 if QUICK else 2
DEPTH = 10
PAIRS, GC = "pairs", "gc_loop"
ALWAYS = ("--max-overhead", "0")

FULL, NO_FREES, BARE = "alys-bpf exact, full stacks", "alys-bpf exact, no stacks of frees", "alys-bpf exact, without stacks"
ALYS = {
    FULL: (),
    NO_FREES: ("--no-free-stacks",),
    BARE: ("-b", "none"),
    "alys-bpf sampled, 512k": ("--sample", "bytes:512k", *ALWAYS),
    "alys-bpf sampled, 4k": ("--sample", "bytes:4k", *ALWAYS),
    "alys-bpf sampled, 512k, default budget": ("--sample", "bytes:512k"),
}
FLOOR, BPFTRACE, HEAPTRACK, DHAT = "floor: empty probes", "bpftrace", "heaptrack", "valgrind DHAT"
FLOORS = {FLOOR: (), "least recorder, stacks": ("least-stacks",), "least recorder, no stacks": ("least",)}


class Facts:
    """Results of one row and workload, by repetition."""

    def __init__(self):
        self.kept = {}

    def add(self, tracer):
        counts = getattr(tracer, "counts", {})
        # In two seconds there may be no window.
        events = counts.get("recorded", getattr(tracer, "events", None))
        for name, value in (("events", events), ("lost", counts.get("lost", getattr(tracer, "lost", None))),
                            ("bytes", tracer.bytes), ("cpu", tracer.cpu), ("peak", tracer.peak_mb)):
            if value is not None:
                self.kept.setdefault(name, []).append(value)

    def get(self, name):
        return statistics.median(self.kept[name]) if name in self.kept else None


def attach(row, workload, pid):
    if row in ALYS:
        return Recording(pid, *ALYS[row])
    if row in FLOORS:
        return Floor(pid, *FLOORS[row])
    return Bpftrace(pid) if workload == PAIRS else Bpftrace(pid, "libgc", "GC_malloc", None)


def run(row, workload, threads, facts):
    """Nanoseconds per operation; with threads, of the whole program."""
    argv = [program(workload), str(SECONDS), str(DEPTH)] + ([str(threads)] if workload == PAIRS else [])
    if row in (HEAPTRACK, DHAT):
        tracer = Heaptrack(*argv) if row == HEAPTRACK else Dhat(*argv)
        result = tracer.target.run()
        facts.add(tracer.stop())
        return float(result[0]) / threads
    target = Target(*argv)
    tracer = attach(row, workload, target.pid) if row != "untraced" else None
    result = target.run()
    if tracer:
        facts.add(tracer.stop())
    target.close()
    return float(result[0]) / threads


def rows_here():
    rows = ["untraced", *ALYS, *FLOORS]
    rows += [row for row, tool in ((BPFTRACE, "bpftrace"), (HEAPTRACK, "heaptrack"), (DHAT, "valgrind"))
             if not missing(tool)]
    return rows


def measure(rows):
    cases, facts = {}, {}
    for row in rows:
        for workload, threads in ((PAIRS, 1), (PAIRS, 2), (GC, 1)):
            if workload == GC and row in (HEAPTRACK, DHAT):
                continue
            key = (row, workload, threads)
            facts[key] = Facts()
            cases[key] = lambda key=key: run(*key, facts[key])
    return harness.interleave(cases, REPETITIONS), facts


def show(value, form="{:.0f}"):
    return "-" if value is None else form.format(value)


def print_costs(rows, workload, what, ns):
    base, floor, other = (ns.get((row, workload, 1)) for row in ("untraced", FLOOR, BPFTRACE))
    table(what, ["", "ns", "over untraced", "over the floor", "over bpftrace"] + ["two threads"] * (workload == PAIRS),
          [[row, show(ns[row, workload, 1], "{:.1f}"), ratio(ns[row, workload, 1], base), ratio(ns[row, workload, 1], floor),
            ratio(ns[row, workload, 1], other)] +
           ([ratio(ns[row, workload, 1], ns[row, workload, 2])] if workload == PAIRS else [])
           for row in rows if (row, workload, 1) in ns])


def print_facts(rows, facts):
    def line(row, workload):
        f = facts[row, workload, 1]
        events, size = f.get("events"), f.get("bytes")
        cpu = f.get("cpu")
        return [f"{row}, {workload}", show(events), show(f.get("lost")), show(size / events if size and events else None, "{:.1f}"),
                show(size / 1e6 if size else None, "{:.2f}"), show(cpu / SECONDS * 100 if cpu is not None else None),
                show(f.get("peak"))]

    table("What the tracer itself takes, attaching and writing names included (one thread)",
          ["", "events", "lost", "bytes/event", "file MB", "CPU %", "peak MB"],
          [line(row, workload) for row in rows[1:] for workload in (PAIRS, GC) if (row, workload, 1) in facts])


def judge(ns):
    a, b = ns[FULL, PAIRS, 1], ns[FULL, GC, 1]
    if (BPFTRACE, PAIRS, 1) in ns:
        share = a / ns[BPFTRACE, PAIRS, 1]
        verdict("(a) malloc+free, exact, stacks, against bpftrace", "at most 0.167x", f"{share:.3f}x", share <= 1 / 6)
    share = a / ns[FLOOR, PAIRS, 1]
    verdict("(a) malloc+free, exact, stacks, against the floor", "at most 1.1x", f"{share:.2f}x", share <= 1.1)
    share = b / ns[FLOOR, GC, 1]
    verdict("(b) GC_malloc, exact, stacks, against the floor", "at most 1.7x", f"{share:.2f}x", share <= 1.7)
    for row, most in ((FULL, 600), (BARE, 300)):
        beside = ns[row, GC, 1] - ns[FLOOR, GC, 1]
        verdict(f"(b) GC_malloc, {row}, beside its trap", f"at most {most} ns", f"{beside:.0f} ns", beside <= most)
    one = ns[NO_FREES, PAIRS, 1] / ns[FLOOR, PAIRS, 1]
    verdict("(a) the same, stacks of allocations only", "at most 1.5x", f"{one:.2f}x", one <= 1.5)
    if (BPFTRACE, GC, 1) in ns:
        share = b / ns[BPFTRACE, GC, 1]
        verdict("(b) GC_malloc, exact, stacks, safe exits, against bpftrace", "at most 0.25x", f"{share:.3f}x",
                share <= 0.25)


def pinned(cpu, *argv):
    return Target(*argv, before=("taskset", "-c", str(cpu)))


def neighbour(state):
    """Nanoseconds per malloc and free of an untraced process, on a CPU of its own, while a traced one works on the other."""
    ours = pinned(1, program(PAIRS), str(SECONDS), str(DEPTH))
    other = tracer = None
    if state != "alone":
        other = pinned(0, program(PAIRS), str(SECONDS * 2), str(DEPTH))
    if state == "traced":
        tracer = Recording(other.pid, output="neighbour.alys")
        for thread in os.listdir(f"/proc/{tracer.process.pid}/task"):
            os.sched_setaffinity(int(thread), {0})
    if other:
        other.process.stdin.write("x")
        other.process.stdin.flush()
    result = float(ours.run()[0])
    if tracer:
        tracer.stop()
    for target in filter(None, (ours, other)):
        target.close()
    return result


def neighbours():
    if os.cpu_count() < 2:
        return
    ns = harness.interleave({s: (lambda s=s: neighbour(s)) for s in ("alone", "untraced", "traced")}, REPETITIONS)
    table("A process that is not traced, malloc+free on the same libc", ["its neighbour is", "ns a pair", "speed"],
          [[name, f"{ns[key]:.1f}", f"{ns['alone'] / ns[key]:.3f}"] for name, key in
           (("not there", "alone"), ("busy, untraced", "untraced"), ("busy, traced", "traced"))])
    speed = ns["untraced"] / ns["traced"]
    verdict("speed of an untraced neighbour, traced against untraced one beside it", "at least 0.97", f"{speed:.3f}",
            speed >= 0.97)


def main():
    os.makedirs(harness.OUT, exist_ok=True)
    rows = rows_here()
    ns, facts = measure(rows)
    print_costs(rows, PAIRS, f"(a) malloc+free of 64 bytes, {DEPTH} frames deep, median of {REPETITIONS}; "
                "(h) what two threads get done against one", ns)
    chart.bars("cost-malloc", "malloc+free, ns a pair", [(r, ns[r, PAIRS, 1]) for r in rows], "ns", log=True)
    print_costs(rows, GC, f"(b) GC_malloc of 64 bytes, {DEPTH} frames deep, collections included, median of {REPETITIONS}", ns)
    chart.bars("cost-gc", "GC_malloc, ns a call", [(r, ns.get((r, GC, 1))) for r in rows], "ns", log=True)
    print_facts(rows, facts)
    neighbours()
    judge(ns)


main()
