# SPDX-License-Identifier: Apache-2.0
"""--rss: what recording costs a redis that fills 1 GB, in CPU time, by interleaved runs. --maps: what it costs a call."""
import os
import statistics
import subprocess

import harness
from harness import QUICK, REPETITIONS, Recording, Target, interleave, program, table, verdict

KEYS = 100_000 if QUICK else 1_000_000
SOCKET = os.path.join(harness.OUT, "redis.sock")
PAIRS = 2 if QUICK else 5


def ask(*words):
    return subprocess.run(["redis-cli", "-s", SOCKET, *words], capture_output=True, text=True, check=False).stdout


def filled(options):
    """CPU seconds of redis while it fills; options: those of the recording, None without one."""
    with subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", SOCKET, "--save", "", "--enable-debug-command",
                           "yes"], stdout=subprocess.DEVNULL) as server:
        try:
            while ask("PING") != "PONG\n":
                if server.poll() is not None:
                    raise RuntimeError("redis-server did not start")
            tracer = Recording(server.pid, "--rss", *options, output="resident.alys") if options is not None else None
            began = harness.cpu_of(server.pid)
            ask("DEBUG", "POPULATE", str(KEYS), "key", "1000")
            took = harness.cpu_of(server.pid) - began
            if tracer:
                tracer.stop()
            return took
        finally:
            server.terminate()


def mapped(recorded):
    """Nanoseconds of a pair of mmap and munmap, and of a system call that maps nothing."""
    target = Target(program("mapper"), "0.5" if QUICK else "2")
    tracer = Recording(target.pid, "--maps", output="maps.alys") if recorded else None
    took = [float(ns) for ns in target.run()]
    if tracer:
        tracer.stop()
    target.close()
    return took


def mappings():
    runs = {"untraced": [], "--maps": []}
    for _ in range(REPETITIONS):
        for name, took in runs.items():
            took.append(mapped(name == "--maps"))
    rows = [(name, *(f"{statistics.median(ns):.0f}" for ns in zip(*took))) for name, took in runs.items()]
    table(f"--maps: nanoseconds of calls, medians of {REPETITIONS}", ["recording", "mmap and munmap", "getppid"], rows)


def main():
    mappings()
    os.makedirs(harness.OUT, exist_ok=True)
    cases = {"untraced": None, "--rss": (),
             "--rss --sample bytes:64k": ("--sample", "bytes:64k"), "--rss --sample bytes:1": ("--sample", "bytes:1")}
    got = interleave({name: lambda options=options: filled(options) for name, options in cases.items()}, PAIRS)
    base = got["untraced"]
    rows = [(name, f"{took:.2f}", f"{100 * (took / base - 1):+.1f} %") for name, took in got.items()]
    table(f"redis fills {KEYS / 1e6:g} GB: CPU time, medians of {PAIRS}", ["recording", "seconds", "cost"], rows)
    cost = 100 * (got["--rss"] / base - 1)
    verdict("CPU time that --rss costs a redis that fills 1 GB", "at most 1 %", f"{cost:.1f} %", cost <= 1)


main()
