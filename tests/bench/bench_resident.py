# SPDX-License-Identifier: Apache-2.0
"""
--rss: what recording costs a redis that fills 1 GB, and a postgres with a connection for each transaction, in CPU time, by
interleaved runs. --maps: what it costs a call.
"""
import os
import shutil
import statistics
import subprocess
import tempfile
import time

import harness
from harness import QUICK, REPETITIONS, Recording, Target, interleave, program, table, verdict

KEYS = 100_000 if QUICK else 1_000_000
SOCKET = os.path.join(harness.OUT, "redis.sock")
PAIRS = 2 if QUICK else 5
POSTGRES = "/usr/lib/postgresql/15/bin"
TRANSACTIONS = 300 if QUICK else 1500


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
        began = self.cpu()
        self.run("pgbench", "-n", "-C", "-c", "1", "-t", str(TRANSACTIONS), "-h", self.dir, "postgres")
        took = self.cpu() - began
        if tracer:
            tracer.stop()
        return took

    def close(self):
        self.server.terminate()
        self.server.wait(20)
        shutil.rmtree(self.dir, ignore_errors=True)


CASES = {"untraced": None, "--rss": (), "--rss --max-overhead 0": ("--max-overhead", "0"),
         "--rss --sample bytes:1": ("--sample", "bytes:1")}


def compare(what, title, take):
    got = interleave({name: lambda options=options: take(options) for name, options in CASES.items()}, PAIRS)
    base = got["untraced"]
    rows = [(name, f"{took:.2f}", f"{100 * (took / base - 1):+.1f} %") for name, took in got.items()]
    table(f"{title}: CPU time, medians of {PAIRS}", ["recording", "seconds", "cost"], rows)
    cost = 100 * (got["--rss"] / base - 1)
    verdict(f"CPU time that --rss costs {what}", "at most 1 %", f"{cost:.1f} %", cost <= 1)


def main():
    mappings()
    os.makedirs(harness.OUT, exist_ok=True)
    compare("a redis that fills 1 GB", f"redis fills {KEYS / 1e6:g} GB", filled)
    postgres = Postgres()
    try:
        compare("a postgres under pgbench, a connection for each transaction", f"postgres, {TRANSACTIONS} transactions",
                postgres.transactions)
    finally:
        postgres.close()


main()
