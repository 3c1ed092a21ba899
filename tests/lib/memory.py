# SPDX-License-Identifier: Apache-2.0
"""What a daemon takes, as the kernel says, and what its status says of it."""

import ctypes
import re
from pathlib import Path

from conftest import family, fdinfo

MIB = 1 << 20
NEAR = 0.05


def shares(pid):
    """Bytes that a process has for itself, its maps of BPF programs left out."""
    kib, of_bpf = 0, False
    try:
        text = Path(f"/proc/{pid}/smaps").read_text()
    except OSError:  # it has ended
        return 0
    for line in text.splitlines():
        if re.match("[0-9a-f]+-", line):
            of_bpf = "anon_inode:bpf-map" in line
        elif line.startswith("Pss:") and not of_bpf:
            kib += int(line.split()[1])
    return kib * 1024


def maps(pids):
    """Bytes of the BPF maps that these processes have, each once."""
    found = {}
    for pid in pids:
        for text in fdinfo(pid):
            told = dict(re.findall(r"^(map_id|memlock):\s+(\d+)", text, re.M))
            if "map_id" in told:
                found[told["map_id"]] = int(told["memlock"])
    return sum(found.values())


def one_memory(pid, other):
    """A child that is being spawned has its parent's memory until it has its program, as vfork(2) says: kcmp(2) tells."""
    return ctypes.CDLL(None).syscall(312, pid, other, 1, 0, 0) == 0


def account(d):
    """
    Looking at several processes takes a while, in which one lets go what another one takes, and a worker comes that shares
    its pages with who forked it: each is looked at twice, and what it had both times was taken at the moment between.
    """
    while True:
        there = family(d.proc.pid)
        pids = [pid for i, pid in enumerate(there) if not any(one_memory(pid, other) for other in there[:i])]
        first, second = ([shares(pid) for pid in pids] + [maps(pids)] for _ in range(2))
        if set(family(d.proc.pid)) == set(there):
            return sum(map(min, first, second))


def told(d):
    """What status says is taken, and what may be."""
    units = {"KiB": 1024, "MiB": MIB, "GiB": 1 << 30}
    found = re.match(r"([\d.]+) (\wiB) of ([\d.]+) (\wiB) ", d.status()["memory"])
    return float(found[1]) * units[found[2]], float(found[3]) * units[found[4]]


def agrees(d):
    """It looks once a second: of one moment at least it must be right."""
    before = account(d)
    said, limit = told(d)
    after = account(d)
    low, high = min(before, after), max(before, after)
    return low * (1 - NEAR) <= said <= high * (1 + NEAR) and said <= limit
