# SPDX-License-Identifier: Apache-2.0
"""A daemon's memory, as reported by the kernel and by its status."""

import ctypes
import re
from pathlib import Path

from conftest import family, fdinfo

MIB = 1 << 20
NEAR = 0.05


def shares(pid):
    """Private bytes of a process, without its mappings of BPF maps."""
    kib, of_bpf = 0, False
    try:
        text = Path(f"/proc/{pid}/smaps").read_text()
    except OSError:  # it has exited
        return 0
    for line in text.splitlines():
        if re.match("[0-9a-f]+-", line):
            of_bpf = "anon_inode:bpf-map" in line
        elif line.startswith("Pss:") and not of_bpf:
            kib += int(line.split()[1])
    return kib * 1024


def maps(pids):
    """Bytes of the BPF maps of these processes, each map counted once."""
    found = {}
    for pid in pids:
        for text in fdinfo(pid):
            told = dict(re.findall(r"^(map_id|memlock):\s+(\d+)", text, re.M))
            if "map_id" in told:
                found[told["map_id"]] = int(told["memlock"])
    return sum(found.values())


def one_memory(pid, other):
    """True for a child of vfork(2) before its exec: it shares its parent's memory, as kcmp(2) shows."""
    return ctypes.CDLL(None).syscall(312, pid, other, 1, 0, 0) == 0


def account(d):
    """
    Reading several processes is not atomic: memory can move from one to another, and a new worker shares pages with its
    parent. So each is read twice; the smaller value was in use at the moment in between.
    """
    while True:
        there = family(d.proc.pid)
        pids = [pid for i, pid in enumerate(there) if not any(one_memory(pid, other) for other in there[:i])]
        first, second = ([shares(pid) for pid in pids] + [maps(pids)] for _ in range(2))
        if set(family(d.proc.pid)) == set(there):
            return sum(map(min, first, second))


def told(d):
    """Memory in use and its limit, as in the status."""
    units = {"KiB": 1024, "MiB": MIB, "GiB": 1 << 30}
    found = re.match(r"([\d.]+) (\wiB) of ([\d.]+) (\wiB) ", d.status()["memory"])
    return float(found[1]) * units[found[2]], float(found[3]) * units[found[4]]


def agrees(d):
    """The daemon measures once a second: its figure must match the actual memory at some moment."""
    before = account(d)
    said, limit = told(d)
    after = account(d)
    low, high = min(before, after), max(before, after)
    return low * (1 - NEAR) <= said <= high * (1 + NEAR) and said <= limit
