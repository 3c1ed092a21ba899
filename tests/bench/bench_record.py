# SPDX-License-Identifier: Apache-2.0
"""Costs of recording: consumer thread, file size, losses."""
import os
import sys
import time

import harness
from harness import QUICK, Recording, Target, program, table, verdict
from server import Server

sys.path.insert(0, os.path.join(harness.ROOT, "tests", "lib"))
from late import late_reader  # noqa: E402

SECONDS = 1 if QUICK else 4


def pairs(threads, *options):
    target = Target(program("pairs"), str(SECONDS), "10", str(threads))
    recording = Recording(target.pid, *options)
    result = target.run()
    recording.stop()
    target.close()
    events = recording.counts["recorded"]
    return [f"{threads} thread{'s' if threads > 1 else ''} of malloc+free, {' '.join(options) or 'full stacks'}",
            f"{events / SECONDS / 1e6:.2f} M/s", recording.counts["lost"], f"{recording.bytes / events:.1f}",
            f"{recording.cpu / events * 1e9:.0f} ns", f"{1 / (recording.cpu / events) / 1e6:.1f} M/s",
            f"{recording.peak_mb:.0f} MB", f"{float(result[0]):.0f} ns"]


def finish_of(seconds):
    """
    Probes produce events more slowly than the tracer reads them. So the thread that handles them is stopped while the target
    runs, then continued and ended: it reads, encodes and writes as fast as it can.
    """
    target = Target(program("pairs"), str(seconds), "10", "1")
    recording = Recording(target.pid, "--backtrace", "none", "--ring", "1G")
    with late_reader(recording.process.pid):
        target.run()
        begun = time.monotonic()
    recording.stop()
    target.close()
    return recording.ended - begun, recording.counts["recorded"], recording.counts["lost"]


def backlog():
    """(events per second from memory to disk, without the usual time to end; events; lost)"""
    idle = sorted(finish_of(0.01)[0] for _ in range(3))[1]
    took, events, lost = sorted(finish_of(SECONDS + 2) for _ in range(3))[1]
    return events / max(took - idle, 1e-3), events, lost


def server(*options):
    s = Server()
    s.load(1)
    recording = Recording(s.pid, *options)
    rate = s.load(SECONDS)
    recording.stop()
    s.close()
    events = max(recording.counts["recorded"], 1)
    return [f"Crystal server, {' '.join(options) or 'full stacks'}", f"{events / SECONDS / 1e6:.2f} M/s",
            recording.counts["lost"], f"{recording.bytes / events:.1f}", f"{recording.cpu / events * 1e9:.0f} ns",
            f"{1 / (recording.cpu / events) / 1e6:.1f} M/s", f"{recording.peak_mb:.0f} MB", f"{rate:.0f} req/s"]


def main():
    heads = ["recording to disk", "events", "lost", "bytes/event", "tracer CPU/event", "one consumer can", "peak",
             "target"]
    rows = [
        pairs(1, "--backtrace", "none"),
        pairs(2, "--backtrace", "none"),
        pairs(1),
        server("--backtrace", "none"),
        server(),
    ]
    table("Throughput of the recorder (one consumer thread); bytes include stacks, names and the ledger", heads, rows)
    rate, events, lost = backlog()
    print(f"  a backlog of {events} events, read, encoded and written by one thread: {rate / 1e6:.1f} M/s, {lost} lost")
    lost += sum(row[2] for row in rows)
    verdict("events a consumer thread records to disk, from a backlog", "at least 1 M/s, none lost",
            f"{rate / 1e6:.1f} M/s, {lost} lost", rate >= 1e6 and not lost)
    verdict("bytes of file per event, Crystal server, full stacks", "at most 16", rows[-1][3], float(rows[-1][3]) <= 16)


if __name__ == "__main__":
    main()
