# SPDX-License-Identifier: Apache-2.0
"""Recorded stacks of allocations, compared with gdb's after the program was stopped right after the call."""

import re
import subprocess

import pytest

import variants
from conftest import TIMEOUT, convert, each_event
from programs import GUESTS, place, start  # noqa: F401 (a fixture)
from variants import VARIANTS

pytestmark = [pytest.mark.bpf, pytest.mark.beside]
STANDING = 54321
# Functions of counter.c: gdb's frames up to the last of them are not the program's.
COUNTED = ("say_and_wait", "allocated", "reallocated", "malloc", "calloc", "realloc", "reallocarray", "posix_memalign")
# One build for each way to find callers' frames and inlined calls.
BUILDS = ("gcc-O0", "gcc-O2", "gcc-O3", "clang-O2", "gcc-frame-pointers", "cet", "gcc-lto", "static-pie", "lld", "mold",
          "debuglink", "dwarf-4", "c++-gcc-O2", "c++-lld", "rust-debug", "rust-release", "rust-mold")
# Guests that pause in an allocation with this number: far from their start, and in calls of many kinds.
PAUSES = {"python3": 9000, "php": 8000, "sqlite3": 5000, "jq": 5000, "gawk": 3000, "lua": 2500, "git": 100}
# gdb also infers frames of tail calls, which are not on the stack: they are left out.
WALK = """python
thread = [t for t in gdb.selected_inferior().threads() if t.ptid[1] == {tid}][0]
thread.switch()
frame = gdb.newest_frame()
while frame:
    if frame.type() != gdb.TAILCALL_FRAME:
        print("frame", frame.pc(), frame.name())
    frame = frame.older()
end
"""


def gdb(pid, tid, folder):
    """(address, name) of each frame and of each function inlined in it, innermost first."""
    script = folder / "walk.gdb"
    script.write_text(WALK.format(tid=tid))
    done = subprocess.run(["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set auto-load off",
                           "-ex", "set backtrace past-main on", "-ex", "set backtrace past-entry on", "-p", str(pid), "-x", script],
                          capture_output=True, text=True, timeout=TIMEOUT)
    found = re.findall(r"^frame (\d+) (.*)$", done.stdout, re.M)
    assert len(found) > 3, done.stdout + done.stderr
    return [(int(pc), name) for pc, name in found]


def stack_of(event):
    return [(frame["ip"], frame.get("name", "")) for frame in event["stack"]]


def allocations(trace, folder):
    """With openssl's and others' wrappers, which gdb shows as well."""
    events = each_event(convert(trace, "json", folder / "events.json", "--no-skip"))
    return [e for e in events if e["addr"] and e["kind"] != "free" and not e.get("prev_addr")]


def names(frames):
    """Names of the program's own functions, from the innermost one that called both the allocation and the wait."""
    found = (re.search(r"\b(stand_\w+|main)\b", re.sub("<.*", "", name)) for _, name in frames)
    found = [name.group(1) for name in found if name]
    return found[found.index("stand_inner"):]


def callers(frames):
    """Addresses of the callers; a frame's address occurs once for each function inlined there."""
    here = next(at for at, name in frames if "stand_inner" in name)
    return [at for at, _ in frames[[at for at, _ in frames].index(here):] if at != here]


@pytest.mark.parametrize("variant", [v for v in VARIANTS if v.name in BUILDS], ids=lambda v: v.name)
def test_inlined_and_called(started, tmp_path, variant):
    """With sampling: the chance that so large a block is skipped is one in a million."""
    trace = tmp_path / "t.alys"
    program = started.program(str(variants.build(variant)), "100", "stand", env=variant.env).wait_ready()
    tracer = started.tracer("-p", program.pid, "-o", trace, "-s", "bytes:4096").recording()
    assert program.go().line() == "standing"
    tracer.stop()
    theirs = gdb(program.pid, program.pid, tmp_path)
    (ours,) = (stack_of(e) for e in allocations(trace, tmp_path) if e["size"] == STANDING)
    assert names(ours) == names(theirs)
    assert callers(ours) == callers(theirs)


@pytest.mark.parametrize("guest", [g for g in GUESTS if g.name in PAUSES], ids=lambda g: g.name)
def test_guests(started, tmp_path, guest, place):  # noqa: F811
    trace = tmp_path / "t.alys"
    counted = started.other(start(guest, place, place / "counts", pause=PAUSES[guest.name]))
    counted.hears("ready")
    tracer = started.tracer("-p", counted.pid, "-o", trace).recording()
    counted.go()
    theirs = gdb(counted.pid, counted.hears("paused"), tmp_path)
    counted.go()
    assert counted.finish()[0] in guest.statuses
    assert tracer.wait() == 0, tracer.text
    ours = stack_of(allocations(trace, tmp_path)[PAUSES[guest.name] - 1])
    theirs = theirs[max(i for i, (_, name) in enumerate(theirs) if name in COUNTED) + 1:]
    assert [at for at, _ in ours][-len(theirs):] == [at for at, _ in theirs]
