# SPDX-License-Identifier: Apache-2.0
"""Reading libgc heaps of other processes: a census of a small one, the marks of a large one."""
import json
import os
import statistics
import subprocess
import time

import harness
from harness import ALYS, REPETITIONS, Target, program, table, verdict

HEAPREAD = os.path.join(harness.BUILD, "tests", "heapread")
SMALL, LARGE = (130_000, 40), (1_000_000, 40)  # objects, bytes of each: heaps of 8 and 50 MB


class Heap:
    def __init__(self, objects, size):
        self.target = Target(program("gc_heap"), str(objects), str(size))
        self.pid = str(self.target.pid)
        self.bytes = int(self.target.process.stdout.readline().split()[0])

    def close(self):
        self.target.close()


def census(heap):
    """Milliseconds of the reading, as reported, and of the whole command."""
    start = time.monotonic()
    done = subprocess.run([ALYS, "census", "-p", heap.pid, "-f", "json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["took_ms"], (time.monotonic() - start) * 1e3


def marks(heap):
    """Objects; best and worst milliseconds of reading all headers and marks."""
    done = subprocess.run([HEAPREAD, heap.pid, "time", str(3 * REPETITIONS)], capture_output=True, text=True, check=True)
    words = done.stdout.split()
    return int(words[0]), float(words[3]), float(words[6])


def main():
    rows, small_ms, large_ms = [], 0.0, 0.0
    for name, shape in (("small", SMALL), ("large", LARGE)):
        heap = Heap(*shape)
        try:
            taken = [census(heap) for _ in range(REPETITIONS)]
            objects, best, worst = marks(heap)
        finally:
            heap.close()
        read, whole = (statistics.median(t[i] for t in taken) for i in (0, 1))
        rows.append((f"{heap.bytes / 1e6:.0f} MB, {objects:,} objects", f"{best:.2f}", f"{worst:.2f}", f"{read:.1f}", f"{whole:.0f}"))
        small_ms, large_ms = (read, large_ms) if name == "small" else (small_ms, worst)
    table("Reading a collected heap without stopping its program, ms",
          ("heap", "marks, best", "marks, worst", "in census", "census, whole command"), rows)
    verdict("blocks and marks of a heap of 8 MB, in a census", "milliseconds", f"{small_ms:.1f} ms", small_ms < 10)
    verdict("blocks and marks of a heap with 1 M objects", "<= 150 ms", f"{large_ms:.1f} ms", large_ms <= 150)


main()
