# SPDX-License-Identifier: Apache-2.0
"""Small traces that expand enormously (tests/lib/bombfile.c): readers stay within limits that real traces do not reach."""

import os
import re
import resource
import struct
import subprocess

import pytest

from conftest import ALYS, PROGS, STRAIGHT, TIMEOUT, alys
from web_driver import build

MIB = 1 << 20
# The limits of user/output/replay/allowance.h, plus the program's own size.
STATED = lambda size: 256 * MIB + 512 * size
OWN = 32 * MIB
READERS = {
    "info": ["info", "{trace}"],
    "report": ["report", "{trace}"],
    "time": ["report", "--by", "time", "{trace}"],
    "leaks": ["report", "--show", "leaked", "{trace}"],
    "page": ["report", "--html", "{out}", "{trace}"],
    "diff": ["diff", "{trace}", "{trace}"],
    **{name: ["convert", "-f", name, "{trace}", "{out}"] for name in ("json", "html", "pprof", "flamegraph", "folded-stacks")},
}
# Smaller for kinds that are slow to generate.
KINDS = {"stacks": 50000, "used-stacks": 50000, "events": 100000, "expanding": 50000, "expanding few": 1200,
         "rows": 298000, "heaps": 298000, "processes": 298000, "modules": 298000, "inlined": 298000, "texts": 298000}


@pytest.fixture(scope="module", params=KINDS)
def bomb(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("bomb") / "bomb.alys"
    subprocess.run([build("bombfile"), request.param.split()[0], str(KINDS[request.param]), path], check=True, timeout=5 * TIMEOUT)
    return path


def measure(args, out):
    """(status, output, peak resident bytes)"""
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2048 * MIB, 2048 * MIB))
    with subprocess.Popen([ALYS, *map(str, args)], stdout=out, stderr=subprocess.PIPE, text=True, preexec_fn=limit) as proc:
        said = proc.stderr.read()
        _, status, used = os.wait4(proc.pid, 0)
        proc.returncode = os.waitstatus_to_exitcode(status)
    return proc.returncode, said, used.ru_maxrss * 1024


@pytest.mark.parametrize("reader", READERS)
def test_readers_keep_to_what_is_stated(bomb, reader, tmp_path):
    args = [word.format(trace=bomb, out=tmp_path / "out") for word in READERS[reader]]
    files = sum(arg == str(bomb) for arg in args)
    with open(tmp_path / "printed", "w") as printed:
        status, said, peak = measure(args, printed)
    size = bomb.stat().st_size
    assert peak <= STATED(files * size) + OWN, f"{peak / MIB:.0f} MiB"
    assert status in (0, 1, 3), said
    if status == 1:
        assert re.search(r"bomb\.alys.*(damaged or malicious|out of memory)|out of memory", said), said
        assert not (tmp_path / "out").exists()
    # So small a trace must not fill a disk either.
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 64 * MIB + 4096 * size


def held_by(trace):
    """(bytes, unpacked bytes, events) as the frame headers state them."""
    data = trace.read_bytes()
    at, unpacked, events = struct.unpack_from("<I", data, 12)[0], 0, 0
    while at + 48 <= len(data):
        kind, stored, raw, count = struct.unpack_from("<4xH2xII16xI", data, at)
        unpacked += raw
        events += count if kind == 2 else 0
        at += 48 + (stored + 7) // 8 * 8
    return len(data), unpacked, events


@pytest.mark.bpf
@pytest.mark.parametrize("name", ["c_busy", "c_churn"])
def test_real_recordings_are_far_from_the_bounds(name, tmp_path):
    """Repetitive programs have the highest compression ratio."""
    trace = tmp_path / "t.alys"
    done = alys("-d", "3", "-o", trace, "--", PROGS / name, env=STRAIGHT)
    assert trace.exists(), done.stderr
    size, unpacked, events = held_by(trace)
    assert unpacked <= 20 * size / 2 + 1 * MIB and events <= 4 * size / 2 + (16 << 10), (size, unpacked, events)
    for reader in ("info", "report", "html", "pprof"):
        args = [word.format(trace=trace, out=tmp_path / reader) for word in READERS[reader]]
        status, said, _ = measure(args, subprocess.DEVNULL)
        assert status == 0, said
