# SPDX-License-Identifier: Apache-2.0
"""The daemon with 50 processes under allocation load: slowdown, own resource use, and time until probes are attached."""
import os
import re
import shutil
import statistics
import struct
import subprocess
import tempfile
import time

from harness import ALYS, QUICK, REPETITIONS, Target, interleave, program, table, verdict
from tracers import Floor

PROCESSES = 50
SECONDS = 1 if QUICK else 3
DAEMONS = 2 if QUICK else 5
ROUNDS = 2 if QUICK else 3
PROFILES = ("in-use", "allocations")
FLOORS = {"floor": "all", "floor of frees": "frees"}
LIBRARY = "/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4"
TICK = os.sysconf("SC_CLK_TCK")


def counted(path):
    words = struct.unpack(f"{PROCESSES * 2}Q", open(path, "rb").read())
    return sum(words[::2]), sum(words[1::2])


def rate(path, seconds):
    """
    The share of the processes' CPU time spent on work without allocations, which tracing does not slow down: their
    throughput, corrected for other load on this machine.
    """
    before = counted(path)
    time.sleep(seconds)
    after = counted(path)
    return (after[1] - before[1]) / (after[0] - before[0])


def family(pid):
    found = [pid]
    for children in each_of([pid], f"task/{pid}/children"):
        for child in children.split():
            found += family(int(child))
    return found


def each_of(pids, file):
    """What /proc says of each; helpers that examine files come and go."""
    for pid in pids:
        try:
            yield open(f"/proc/{pid}/{file}").read()
        except (ProcessLookupError, FileNotFoundError):
            continue


def cpu_of(pids):
    """Seconds; those of a process that has ended are its parent's."""
    return sum(int(n) for text in each_of(pids, "stat") for n in text.rsplit(")", 1)[1].split()[11:15]) / TICK


def memory_of(pids):
    """Megabytes; shared pages count once."""
    return sum(int(re.search(r"^Pss:\s+(\d+)", text, re.M).group(1)) for text in each_of(pids, "smaps_rollup")) / 1024


def ctl(path, *words):
    """Seconds that a command took according to the daemon."""
    said = subprocess.run([ALYS, "ctl", "--socket", path, *words], check=True, capture_output=True, text=True).stdout
    took = re.search(r"\((\d+) ms\)", said)
    return int(took.group(1)) / 1000 if took else None


def end(daemon):
    """Seconds that the daemon takes to stop and remove its probes."""
    begun = time.monotonic()
    daemon.terminate()
    daemon.wait(60)
    return time.monotonic() - begun


def measure_one(folder, profile, target, counts, found):
    """One daemon, switched on and off in turns."""
    sock = os.path.join(folder, "ctl")
    daemon = subprocess.Popen([ALYS, "daemon", "--all", "--off", "--profile", profile, "--socket", sock], stderr=subprocess.PIPE, text=True)
    daemon.stderr.readline()
    try:
        ctl(sock, "on")
        ctl(sock, "off")
        for _ in range(ROUNDS):
            plain = rate(counts, SECONDS)
            found["on"].append(ctl(sock, "on"))
            before = cpu_of(family(daemon.pid))
            traced = rate(counts, SECONDS)
            found["cpu"].append((cpu_of(family(daemon.pid)) - before) / SECONDS)
            found["memory"].append(memory_of(family(daemon.pid)))
            found["off"].append(ctl(sock, "off"))
            found["lost"].append(1 - traced / plain)
            for name, where in FLOORS.items():
                floor = Floor(target.pid, where)
                found[name].append(1 - rate(counts, SECONDS) / plain)
                floor.stop()
        ctl(sock, "on")
        found["end"].append(end(daemon))
    finally:
        daemon.kill()


def measure(folder, profile):
    """Of several daemons, because each finds out for itself what a stop costs."""
    counts = os.path.join(folder, "counts")
    target = Target(program("requests"), str(PROCESSES), counts)
    found = {name: [] for name in ("lost", *FLOORS, "cpu", "on", "off", "memory", "end")}
    try:
        for _ in range(DAEMONS):
            measure_one(folder, profile, target, counts, found)
    finally:
        target.close()
    return found


def arrival(*words):
    """Milliseconds from the start of a process until it is probed."""
    target = Target(program("arrive"), *words)
    time.sleep(0.5)
    took = float(target.run()[0])
    target.close()
    time.sleep(0.5)
    return took


def begin():
    target = subprocess.Popen([program("arrive"), "since", str(time.monotonic_ns())], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    took = float(target.stdout.readline())
    target.communicate()
    time.sleep(0.5)
    return took


def open_unknown(folder):
    """Opens a new file each time, so that it has to be calibrated meanwhile."""
    copy = os.path.join(folder, f"{time.monotonic_ns()}.so")
    shutil.copy(LIBRARY, copy)
    return arrival(copy, "tc_malloc")


def arrivals(folder):
    sock = os.path.join(folder, "ctl")
    daemon = subprocess.Popen([ALYS, "daemon", "--name", "arrive", "--socket", sock], stderr=subprocess.PIPE, text=True)
    daemon.stderr.readline()
    try:
        found = interleave({"new process": begin, "exec": lambda: arrival("exec"),
                            "dlopen of a library never seen": lambda: open_unknown(folder)}, REPETITIONS)
        ctl(sock, "stop")
        daemon.wait(20)
    finally:
        daemon.kill()
    return found


ROWS = [("requests lost, %", "lost", 100, 1), ("floor: empty probes there, %", "floor", 100, 1),
        ("floor: those of free alone, %", "floor of frees", 100, 1), ("daemon, % of a CPU", "cpu", 100, 1),
        ("daemon, MB", "memory", 1, 0), ("on, ms", "on", 1000, 0), ("off, ms", "off", 1000, 0), ("end, ms", "end", 1000, 0)]


def main():
    with tempfile.TemporaryDirectory() as folder:
        found = {profile: measure(folder, profile) for profile in PROFILES}
        soon = arrivals(folder)
    for profile, values in found.items():
        title = f"{PROCESSES} processes, 20 mallocs and frees a millisecond of work each; alys-bpf daemon --all --profile {profile} at bytes:512k"
        table(title, ["", "median", "from", "to"],
              [[name, *(f"{factor * of(values[key]):.{digits}f}" for of in (statistics.median, min, max))]
               for name, key, factor, digits in ROWS])
    middle = {name: statistics.median(values) for name, values in found["in-use"].items()}
    lost = 100 * statistics.median(found["allocations"]["lost"])
    verdict("throughput that they lose, allocations recorded, %", "at most 1", f"{lost:.1f}", lost <= 1)
    for name, factor, most, what in (("lost", 100, 2, "throughput that they lose, blocks in use recorded, %"), ("cpu", 100, 3, "daemon, % of a CPU"),
                                     ("memory", 1, 256, "daemon's memory, MB"), ("on", 1000, 300, "switching on, ms"),
                                     ("off", 1000, 1000, "switching off, ms"), ("end", 1000, 2000, "from SIGTERM to the end, ms")):
        measured = factor * middle[name]
        verdict(what, f"at most {most}", f"{measured:.1f}", measured <= most)
    for what, measured in soon.items():
        verdict(f"probes after: {what}, ms", "at most 100", f"{measured:.1f}", measured <= 100)


main()
