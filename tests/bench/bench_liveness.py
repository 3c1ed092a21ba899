# SPDX-License-Identifier: Apache-2.0
"""
Liveness of a million recorded objects after a collection: how long the tracer takes, whether it stops the program, and
how close the bytes in use are to what the program itself prints.
"""
import json
import re
import subprocess

import harness

OBJECTS = 100_000 if harness.QUICK else 1_000_000
SIZE = 63 # with the byte that libgc adds, exactly a size class


def note(text, name):
    found = re.search(rf"^ +note +{name} +(\d+)", text, re.M)
    return int(found[1]) if found else 0


def in_use(path):
    done = subprocess.run([harness.ALYS, "report", "--show", "live", "--focus", "site_object", "-f", "json", path],
                          capture_output=True, text=True, check=True)
    total = json.loads(done.stdout)["total"]
    return total["bytes"], total.get("error", 0)


def run(*options):
    target = harness.Target(harness.program("gc_live"), str(OBJECTS), str(SIZE))
    recording = harness.Recording(target.pid, "--backtrace-limit", "8", *options, output="liveness.alys")
    _, size = map(int, target.run())
    recording.stop()
    stopped = target.was_stopped()
    target.close()
    info = subprocess.run([harness.ALYS, "info", recording.path], capture_output=True, text=True, check=True).stdout
    liveness = re.search(r"^liveness +(.*)", info, re.M)[1]
    told, error = in_use(recording.path)
    return note(info, "marks-longest-us") / 1000, note(info, "judged-longest-us") / 1000, told, error, size, liveness, stopped


def main():
    rows, exact, within, unasked = [], [], [], []
    for name, options in {"every call": (), "stopped at each": ("--stop-at-gc",), "bytes:16k": ("-s", "bytes:16k")}.items():
        for _ in range(harness.REPETITIONS):
            marks, judged, told, error, size, liveness, stopped = run(*options)
            rows.append((name, f"{marks:.1f}", f"{judged:.1f}", f"{told:,}", f"{size:,}", f"{error:,.0f}", "yes" if stopped else "no", liveness))
            if "--stop-at-gc" not in options:
                unasked.append(stopped)
            if error:
                within.append(abs(told - size) / error)
            else:
                exact.append((marks + judged, abs(told - size) / size))
    harness.table(f"liveness of {OBJECTS:,} objects, half of them dropped",
                  ("recorded", "marks read ms", "judged, CPU ms", "in use", "truth", "stated error", "stopped", "liveness"), rows)
    worst = max(ms for ms, _ in exact)
    harness.verdict(f"liveness of {OBJECTS:,} objects after one collection", "at most 150 ms", f"{worst:.0f} ms at most", worst <= 150)
    harness.verdict("the target stopped for it, unless asked for", "0 ms", "0 ms" if not any(unasked) else f"in {sum(unasked)} runs",
                    not any(unasked))
    off = 100 * max(share for _, share in exact)
    harness.verdict("bytes in use after a collection, exact recording", "within 1 %", f"{off:.2f} % off at most", off <= 1)
    mean = sum(within) / len(within)
    harness.verdict("bytes in use after a collection, sampled", "within the stated error",
                    f"{mean:.1f} standard errors off on average", mean <= 1.5)


main()
