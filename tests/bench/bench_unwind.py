# SPDX-License-Identifier: Apache-2.0
"""Full stacks: cost of a walk compared with the kernel's, speed of building unwind tables, time to attach."""
import os
import statistics
import subprocess
import sys
import time

import harness
from harness import BUILD, QUICK, Recording, program, table, verdict

FILES = ("/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1", "/usr/lib/x86_64-linux-gnu/libc.so.6",
         "/usr/lib/x86_64-linux-gnu/libcrypto.so.3", os.path.join(BUILD, "demo", "server"))
# Limits in ns at these depths, for the machine on which they were set.
WALK = {12: 420, 27: 650, 67: 1200}
WALK_RUNS = 1 if QUICK else 7
LIBRARIES = 20
# Python with exactly this many libraries; those with dependencies are loaded first.
TARGET = f"""
import ctypes, sys
def mapped():
    lines = [line.split() for line in open("/proc/self/maps")]
    return len({{words[-1] for words in lines if words[1] == "r-xp" and ".so" in words[-1]}})
for name in ("ssl.so.3", "dw.so.1", "sqlite3.so.0", "stdc++.so.6", "readline.so.8", "ncursesw.so.6", "bpf.so.1", "expat.so.1",
             "zstd.so.1", "uuid.so.1", "protobuf-c.so.1", "resolv.so.2", "rt.so.1", "dl.so.2", "util.so.1", "pthread.so.0",
             "thread_db.so.1", "nsl.so.1", "crypt.so.1", "BrokenLocale.so.1", "anl.so.1", "mvec.so.1"):
    if mapped() < {LIBRARIES}:
        try:
            ctypes.CDLL("lib" + name)
        except OSError:
            pass
assert mapped() == {LIBRARIES}, mapped()
print("ready", flush=True)
sys.stdin.read(1)
print("1", flush=True)
sys.stdin.read()
"""


def prices_once(found):
    """Adds to {depth: [(ns of a walk, against the kernel's, remembered, never seen before, ns of dedupe and event)]}."""
    done = subprocess.run([os.path.join(BUILD, "tests/bpf/price"), os.path.join(BUILD, "tests/bpf/prog/depth")],
                          capture_output=True, text=True)
    print("".join("  " + line + "\n" for line in done.stdout.splitlines()), end="")
    for line in done.stdout.splitlines():
        words = line.split()
        if words and words[0].isdigit():
            shares = (float(line.split(name)[1].split(",")[0]) for name in ("walk/kernel ", "remembered/walk ", "new/walk "))
            found.setdefault(int(words[0]), []).append((float(words[3]), *shares, float(line.split("event ")[-1])))


def walk():
    """Cost of walks by depth, compared with bpf_get_stack. Where the kernel puts the programs and maps differs by run, and so do ratios."""
    found = {}
    print("\nThe price of a stack, nanoseconds added to a malloc, median of 15 rounds")
    for _ in range(WALK_RUNS):
        prices_once(found)
    for depth, runs in found.items():
        walked, share, alike, anew, sent = (statistics.median(values) for values in zip(*runs))
        verdict(f"walk of {depth} frames over an empty probe", f"at most {WALK[depth]} ns", f"{walked:.0f} ns",
                walked <= WALK[depth])
        verdict(f"walk of {depth} frames against bpf_get_stack", "below 0.60x", f"{share:.2f}x", share < 0.6)
        verdict(f"walk of {depth} frames, the thread's last one again, against a whole walk", "at most 0.40x", f"{alike:.2f}x",
                alike <= 0.4)
        verdict(f"walk of {depth} frames, a stack never seen before, against one that remembers nothing", "at most 1.10x",
                f"{anew:.2f}x", anew <= 1.1)
        verdict(f"dedupe and event at {depth} frames", "at most 100 ns", f"{sent:.0f} ns", sent <= 100)


def tables():
    files = [f for f in FILES if os.path.exists(f)]
    out = subprocess.run([program("tables"), "3" if QUICK else "11", *files], capture_output=True, text=True, check=True).stdout
    rows, figures = [], []
    for line in out.splitlines():
        path, size, count, taken, ms = line.split()
        size, count, taken, ms = int(size), int(count), int(taken), float(ms)
        name = os.path.basename(path)
        rows.append([name, f"{size / 1e6:.2f}", count, f"{taken / count:.2f}", f"{ms:.1f}", f"{size / ms / 1e3:.0f}"])
        figures.append((name, size / ms / 1e3, ms, taken / count))
    table("Tables from .eh_frame", ["file", ".eh_frame MB", "rows", "bytes/row", "ms", "MB/s"], rows)
    for name, speed, ms, each in figures[:1]:
        verdict(f"{name}: speed", "at least 200 MB/s", f"{speed:.0f} MB/s", speed >= 200)
        verdict(f"{name}: time", "at most 40 ms", f"{ms:.1f} ms", ms <= 40)
        verdict(f"{name}: size", "at most 4.2 bytes/row", f"{each:.2f}", each <= 4.2)


def attach_to(target, facts):
    start = time.monotonic()
    recording = Recording(target.pid, output="attach.alys")
    took = time.monotonic() - start
    start = time.monotonic()
    recording.stop()
    facts.append((time.monotonic() - start) * 1000)
    return took * 1000


def attach_python(facts):
    target = harness.Target(sys.executable, "-c", TARGET)
    took = attach_to(target, facts)
    target.run()
    target.close()
    return took


def attach_server(facts):
    """Time to attach to a server, including calibration in the helper process."""
    server = subprocess.Popen([os.path.join(BUILD, "demo", "server"), "0"], stdout=subprocess.PIPE, text=True)
    server.stdout.readline()
    took = attach_to(server, facts)
    server.kill()
    server.wait()
    server.stdout.close()
    return took


def main():
    walk()
    tables()
    python, server = [], []
    ms = harness.interleave({"python": lambda: attach_python(python), "server": lambda: attach_server(server)},
                            3 if QUICK else 7)
    table("From the command to the first recorded call, and from the interrupt to the finished file, ms",
          ["target", "attach", "detach"],
          [[f"python with {LIBRARIES} libraries", f"{ms['python']:.0f}", f"{statistics.median(python):.0f}"],
           ["Crystal server, libgc calibrated", f"{ms['server']:.0f}", f"{statistics.median(server):.0f}"]])
    verdict(f"attach to a process with {LIBRARIES} libraries", "at most 150 ms", f"{ms['python']:.0f} ms", ms["python"] <= 150)


main()
