# SPDX-License-Identifier: Apache-2.0
"""
--rss: what recording costs a redis that fills 1 GB, and a postgres with a connection for each transaction. Their CPU time
differs by some per cent from run to run, traced or not, so it is taken twice: by interleaved runs, with the standard error,
and as the time that the kernel counts inside the BPF programs meanwhile. --maps: what it costs a call.
"""
import contextlib
import json
import math
import os
import shutil
import statistics
import subprocess
import tempfile
import time

import harness
from harness import QUICK, REPETITIONS, Recording, Target, program, table, verdict

KEYS = 100_000 if QUICK else 1_000_000
SOCKET = os.path.join(harness.OUT, "redis.sock")
ROUNDS = 2 if QUICK else 12
# By these an error of less than a per cent; of a redis, whose runs take two seconds.
MANY = 2 if QUICK else 100
STATISTICS = "/proc/sys/kernel/bpf_stats_enabled"
POSTGRES = "/usr/lib/postgresql/15/bin"
TRANSACTIONS = 300 if QUICK else 1500


def ask(*words):
    return subprocess.run(["redis-cli", "-s", SOCKET, *words], capture_output=True, text=True, check=False).stdout


def in_programs():
    """{number: nanoseconds} that the kernel has counted inside each BPF program, of all processes."""
    listed = subprocess.run(["bpftool", "-j", "prog"], capture_output=True, text=True, check=True).stdout
    return {p["id"]: p.get("run_time_ns", 0) for p in json.loads(listed)}


def set_statistics(on):
    with open(STATISTICS, "w", encoding="ascii") as f:
        f.write(on)


@contextlib.contextmanager
def statistics_of_programs():
    """Makes the kernel count, which costs two readings of the clock a program: for no run whose CPU time is compared."""
    with open(STATISTICS, encoding="ascii") as f:
        before = f.read()
    set_statistics("1")
    try:
        yield
    finally:
        set_statistics(before)


class Cost:
    """Of what a process does in `with`: CPU seconds of its own, and those of them within BPF programs if they are counted."""

    def __init__(self, cpu):
        self.cpu = cpu

    def __enter__(self):
        self.began = self.cpu(), in_programs()
        return self

    def __exit__(self, *_):
        cpu, before = self.began
        self.seconds = self.cpu() - cpu
        self.counted = sum(ns - before.get(number, 0) for number, ns in in_programs().items()) / 1e9


def filled(options):
    """What redis takes while it fills; options: those of the recording, None without one."""
    with subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", SOCKET, "--save", "", "--enable-debug-command",
                           "yes"], stdout=subprocess.DEVNULL) as server:
        try:
            while ask("PING") != "PONG\n":
                if server.poll() is not None:
                    raise RuntimeError("redis-server did not start")
            tracer = Recording(server.pid, "--rss", *options, output="resident.alys") if options is not None else None
            with Cost(lambda: harness.cpu_of(server.pid)) as cost:
                ask("DEBUG", "POPULATE", str(KEYS), "key", "1000")
            if tracer:
                tracer.stop()
            return cost
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


class Postgres:
    """A server of its own, as the user postgres, on a unix socket."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="alys-postgres-", dir="/tmp")
        shutil.chown(self.dir, "postgres")
        self.run("initdb", "-D", f"{self.dir}/cluster", "-A", "trust", "-N")
        self.server = subprocess.Popen([f"{POSTGRES}/postgres", "-D", f"{self.dir}/cluster", "-k", self.dir, "-h", ""],
                                       user="postgres", group="postgres", extra_groups=[], stderr=subprocess.DEVNULL)
        while subprocess.run([f"{POSTGRES}/pg_isready", "-q", "-h", self.dir], check=False).returncode:
            if self.server.poll() is not None:
                raise RuntimeError("postgres did not start")
            time.sleep(0.1)
        self.run("pgbench", "-i", "-q", "-h", self.dir, "postgres")

    def run(self, name, *words):
        subprocess.run([f"{POSTGRES}/{name}", *words], user="postgres", group="postgres", extra_groups=[], cwd=self.dir,
                       check=True, capture_output=True)

    def cpu(self):
        """Of the server with the children that have ended."""
        with open(f"/proc/{self.server.pid}/stat", encoding="ascii") as f:
            return sum(int(n) for n in f.read().rsplit(")", 1)[1].split()[11:15]) / os.sysconf("SC_CLK_TCK")

    def transactions(self, options):
        tracer = Recording(self.server.pid, "--rss", "--follow", *options, output="postgres.alys") if options is not None else None
        with Cost(self.cpu) as cost:
            self.run("pgbench", "-n", "-C", "-c", "1", "-t", str(TRANSACTIONS), "-h", self.dir, "postgres")
        if tracer:
            tracer.stop()
        return cost

    def close(self):
        self.server.terminate()
        self.server.wait(20)
        shutil.rmtree(self.dir, ignore_errors=True)


CASES = {"untraced": None, "--rss": (), "--rss --max-overhead 0": ("--max-overhead", "0"),
         "--rss --sample bytes:1": ("--sample", "bytes:1")}


def rounds(take, names, count):
    """Seconds of each case by round, each round in another order: what a run leaves behind slows every case alike."""
    took = {name: [] for name in names}
    for n in range(count):
        for name in names[n % len(names):] + names[:n % len(names)]:
            took[name].append(take(CASES[name]).seconds)
    return took


def over(seconds, base):
    """By how many per cent the runs are longer than those of the same rounds in base, with the standard error."""
    logs = [math.log(one / other) for one, other in zip(seconds, base)]
    return 100 * statistics.mean(logs), 100 * statistics.stdev(logs) / math.sqrt(len(logs))


def shares(take):
    """Per cent of the CPU time that passes within BPF programs, by case: a median of three."""
    with statistics_of_programs():
        runs = {name: [take(CASES[name]) for _ in range(3)] for name in CASES}
    return {name: 100 * statistics.median(c.counted / c.seconds for c in costs) for name, costs in runs.items()}


def compare(what, title, take):
    took, counted = rounds(take, list(CASES), ROUNDS), shares(take)
    rows = [(name, f"{statistics.median(seconds):.2f}", "{:+.1f} +- {:.1f} %".format(*over(seconds, took["untraced"])),
             f"{counted[name]:.2f} %") for name, seconds in took.items()]
    table(f"{title}: CPU time, {ROUNDS} rounds", ["recording", "seconds", "cost", "in BPF programs"], rows)
    verdict(f"CPU time that --rss costs {what}, as counted in its programs", "at most 1 %", f"{counted['--rss']:.2f} %",
            0 < counted["--rss"] <= 1)


def compare_often(what, take):
    took = rounds(take, ["untraced", "--rss"], MANY)
    cost, error = over(took["--rss"], took["untraced"])
    verdict(f"CPU time that --rss costs {what}, {MANY} rounds", "at most 1 %", f"{cost:.1f} +- {error:.1f} %", cost <= 1)


def main():
    mappings()
    os.makedirs(harness.OUT, exist_ok=True)
    fills = f"fills {KEYS / 1e6:g} GB"
    compare(f"a redis that {fills}", f"redis {fills}", filled)
    compare_often(f"a redis that {fills}", filled)
    postgres = Postgres()
    try:
        compare("a postgres under pgbench, a connection for each transaction", f"postgres, {TRANSACTIONS} transactions",
                postgres.transactions)
    finally:
        postgres.close()


main()
