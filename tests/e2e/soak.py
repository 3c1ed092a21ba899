#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
A day of the daemon in ALYS_SOAK_SECONDS (180): servers, programs that exec others, a thousand short-lived processes a
second in every round, requests to all of the daemon's interfaces, and several daemons one after another at the end.
Status 0: nothing grew, crashed, hung or was lost uncounted, reported memory and ends were true, and nothing is left in
the kernel; 1: something failed; 77: no BPF here. Its processes run as a user of their own with a C library of their
own, so its probes are in no other process of the machine.
"""
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from conftest import PROGS, Daemon, Program, bpftool, children_of, fdinfo, law, leftovers, probe_programs, why_no_bpf
from memory import account, agrees, told
from sockets import free_port

SECONDS = float(os.environ.get("ALYS_SOAK_SECONDS", "180"))
ROUND = 10          # seconds
NEWBORN = 1000      # in a second of each round
PATIENCE = 120      # seconds in which whatever does not hang has answered, however loaded the machine
WARM_UP = 0.25      # of the rounds: pools fill, names are read
# How much a process may grow between the first and the last fifth of the run, however long that is.
MEMORY_GROWTH = 5 << 20
FILES_GROWTH = 5
RESTARTS = 5
ENTRIES_GROWTH = 5  # of a table in the kernel, from one moment of standing still to the last


def unused_user():
    used = set()
    for process in children_of("/proc"):
        try:
            used.add(process.stat().st_uid)
        except OSError:  # it has ended
            continue
    return next(uid for uid in range(61000 + os.getpid() % 1000, 65000) if uid not in used)


def own_library(folder):
    maps = Path("/proc/self/maps").read_text()
    shutil.copy(re.search(r"/\S*/libc\.so\.6$", maps, re.M).group(), folder)


def family(pid):
    found = [pid]
    try:
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            found += family(int(child))
    except OSError:
        pass
    return found


def entries(pids):
    """{table: entries} of the BPF maps that can grow."""
    ids = {int(n) for pid in pids for text in fdinfo(pid) for n in re.findall(r"^map_id:\s*(\d+)", text, re.M)}
    tables = [m for m in bpftool("map") if m["id"] in ids and m["type"] == "hash"]
    return {m["name"]: len(bpftool("map", "dump", "id", str(m["id"]))) for m in tables}


class Growth:
    """Memory and descriptors of each process of the daemon, round by round."""

    def __init__(self):
        self.series, self.tables = {}, []

    def look(self, d):
        for pid in family(d.proc.pid):
            try:
                memory = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
                files = len(os.listdir(f"/proc/{pid}/fd"))
            except OSError:  # a worker that has just ended
                continue
            self.series.setdefault(pid, []).append((memory, files))

    def figures(self, rounds):
        """(pid, first and last memory, first and last number of files) of processes that lived nearly all the time."""
        for pid, seen in self.series.items():
            if len(seen) < rounds * 0.9:
                continue
            warm = seen[int(len(seen) * WARM_UP):]
            fifth = max(1, len(warm) // 5)
            yield (pid, *(statistics.median(s[i] for s in part) for i in (0, 1) for part in (warm[:fifth], warm[-fifth:])))


class Soak:
    def __init__(self, folder):
        self.folder, self.uid, self.port = folder, unused_user(), free_port()
        self.growth, self.rounds, self.born, self.slowest = Growth(), 0, 0, 0
        self.targets, self.d, self.most, self.ended = [], None, 0, 0

    def as_user(self, *argv):
        return ["setpriv", "--reuid", str(self.uid), "--regid", str(self.uid), "--clear-groups", "nice", "-n", "5", "env",
                f"LD_LIBRARY_PATH={self.folder}", *map(str, argv)]

    def start(self):
        own_library(self.folder)
        for name in ("c_soak", "lib_plugin.so"):
            shutil.copy(PROGS / name, self.folder)
        program, plugin = self.folder / "c_soak", self.folder / "lib_plugin.so"
        modes = [("server", plugin)] * 3 + [("phoenix",), ("nursery", NEWBORN)]
        self.targets = [Program(self.as_user(program, *mode)).wait_ready() for mode in modes]
        self.daemon()

    def daemon(self):
        self.d = Daemon(self.folder, "--user", self.uid, "--sample", "bytes:16k", "--listen", self.port, "--profile-dir",
                        self.folder / "profiles", "--every", "7s", "--keep", 20, launcher=["setpriv", "--pdeathsig", "TERM"])
        self.d.wait_ready()
        self.collector = self.d.collector()

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=PATIENCE) as answer:
            assert answer.read(), path

    def ask_everything(self, pid):
        for path in ("/", "/metrics", "/sd", f"/debug/pprof/heap?pid={pid}", f"/report?pid={pid}", f"/debug/pprof/delta_heap?pid={pid}"):
            self.get(path)
        assert self.d.ctl("snapshot", pid) and self.d.ctl("snapshot", pid, "html")

    def end_in_a_window(self):
        """A request for future allocations is answered when its process has exited."""
        answers = []
        brief = Program(self.as_user(self.folder / "c_soak", "server", self.folder / "lib_plugin.so")).wait_ready()
        try:
            self.d.until(lambda: brief.pid in self.d.status()["table"], PATIENCE)
            path = f"/debug/pprof/heap?pid={brief.pid}&seconds=300"
            asking = threading.Thread(target=lambda: answers.append(self.get(path)), daemon=True)
            asking.start()
            time.sleep(0.5)
        finally:
            brief.kill()
        asking.join(PATIENCE)
        assert answers == [None], "a window outlives its process"

    def look_at_account(self):
        """Checks the reported memory, and that the count of ended processes never falls."""
        self.d.until(lambda: agrees(self.d), PATIENCE)
        self.most = max(self.most, account(self.d))
        assert self.most <= told(self.d)[1], f"{self.most} bytes are more than the limit"
        ended = int(re.search(r"so far (\d+) ended", self.d.status()["processes"]).group(1))
        assert ended >= self.ended, f"{ended} ended, {self.ended} before"
        self.ended = ended

    def switch(self, pid):
        """Switches off, checks the ledger, and switches on again; removes and adds one process."""
        self.d.ctl("off")
        assert self.d.status()["probes"].startswith("0 files, 0 places, 0 links;")
        law(self.d)
        self.growth.tables.append(entries(family(self.d.proc.pid)))
        self.d.ctl("on")
        self.d.ctl("remove", pid)
        self.d.ctl("add", pid)

    def once(self):
        nursery, pid = self.targets[-1], self.targets[self.rounds % 3].pid
        nursery.go()
        self.ask_everything(pid)
        born, failed, ms = (int(n) for n in re.findall(r"\d+", nursery.line(PATIENCE)))
        assert failed == 0, f"{failed} of {born} short-lived processes crashed"
        self.born, self.slowest = self.born + born, max(self.slowest, ms)
        self.d.until(lambda: self.d.traced() == len(self.targets), PATIENCE)
        self.end_in_a_window()
        self.look_at_account()
        assert all(t.proc.poll() is None for t in self.targets), "a target ended"
        assert self.d.proc.poll() is None and self.d.collector() == self.collector, "a process of the daemon ended"
        if self.rounds % 6 == 5:
            self.switch(pid)
        self.d.log()  # a full pipe would hold the daemon up
        self.rounds += 1

    def run(self):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            begun = time.monotonic()
            self.once()
            time.sleep(max(0, begun + ROUND - time.monotonic()))
            self.growth.look(self.d)
            if self.rounds % 6 == 0:
                self.tell()

    def tell(self):
        now = [(pid, seen[-1]) for pid, seen in self.growth.series.items() if len(seen) == self.rounds]
        parts = ", ".join(f"{pid}: {memory / (1 << 20):.1f} MB {files} files" for pid, (memory, files) in now)
        print(f"  round {self.rounds}: {self.born} born, {parts}", flush=True)

    def finish(self):
        self.d.ctl("off")
        law(self.d)
        status = self.d.status()
        self.restart()
        self.d.end()
        for t in self.targets:
            assert t.finish() == 0, f"{t.proc.args}: status {t.proc.returncode}"
        print(f"{status['account']}\n{status['processes']}\n{status['profiles']}\n{self.most / (1 << 20):.1f} MB at most\n{self.born} short-lived processes, the slowest thousand in {self.slowest} ms; "
              f"daemon: {status['processor']}")

    def restart(self):
        """The next daemon may start as soon as `ctl stop` returns."""
        self.d.log()
        self.kept = self.d.proc.pid, self.collector
        for _ in range(RESTARTS):
            self.d.ctl("stop")
            assert self.d.proc.wait(PATIENCE) == 0
            self.daemon()
            self.d.until(lambda: self.d.traced() == len(self.targets), PATIENCE)

    def judge(self):
        bad, unseen = [], set(self.kept)
        for pid, was, now, files_were, files_are in self.growth.figures(self.rounds):
            print(f"process {pid}: {was / (1 << 20):.1f} -> {now / (1 << 20):.1f} MB, {files_were:.0f} -> {files_are:.0f} files")
            unseen.discard(pid)
            if now - was > MEMORY_GROWTH or files_are - files_were > FILES_GROWTH:
                bad.append(pid)
        bad += self.judge_tables()
        assert not bad and not unseen, f"grew: {bad}, not looked at: {unseen}"

    def judge_tables(self):
        tables = self.growth.tables
        print(f"tables in the kernel: {tables[0]} -> {tables[-1]}" if tables else "tables in the kernel: not looked at")
        return [name for name, n in (tables[-1].items() if tables else ()) if n > tables[0].get(name, 0) + ENTRIES_GROWTH]

    def close(self):
        if self.d:
            self.d.kill()
        for t in self.targets:
            t.kill()


def main():
    reason = why_no_bpf()
    if reason:
        print(f"SKIPPED soak: {reason}")
        sys.exit(77)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("soak: told to end"))
    before = probe_programs()
    folder = Path(tempfile.mkdtemp(prefix="alys-soak-"))
    folder.chmod(0o755)
    soak = Soak(folder)
    try:
        soak.start()
        soak.run()
        soak.finish()
        soak.judge()
    except BaseException:
        if soak.d:
            print(soak.d.log()[-4000:], file=sys.stderr)
        raise
    finally:
        soak.close()
        subprocess.run(["rm", "-rf", folder], check=False)
    left = leftovers(before, PATIENCE)
    assert not left, f"left in the kernel: {left}"


main()
