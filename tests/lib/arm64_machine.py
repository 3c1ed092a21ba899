# SPDX-License-Identifier: Apache-2.0
"""
Debian's kernels on an emulated aarch64 machine run the cross-built program and test programs, one after another
(tests/machine-job). What is the same on each of them is checked here.
"""

import dataclasses
import json
import re

import emulated
from conftest import ROOT, alys, assert_law, assert_same, events_of, tally

OPTIONS = {"c_fork": "--follow", "c_usdt": "-a usdt", "c_sdt": "-a usdt"}
KILLED = "c_grow"
# What tests/machine-job runs besides recordings of single programs.
VERBS = ["c_libc", "c_malloc", "c_gclive", "c_mappings", "c_resident"]
# With a collector (tests/machine-collected).
COLLECTED = ["c_gclive", "alive.debug", "c_gcthreads", "c_gcthreads_static", "c_gcloaded"]
# Met at work (tests/machine-live).
LIVE = {"served": ["serving.release", "c_load"], "tortured": ["torture.release", "c_loaded"], "watched": ["c_grow", "c_load", "c_loaded"]}


@dataclasses.dataclass(frozen=True)
class Plan:
    kernel: str
    # Programs whose every call must be found, site by site; and how many of their processes say what they did.
    exact: dict
    # Other programs that are recorded.
    recorded: dict = dataclasses.field(default_factory=dict)
    live: tuple = ()
    killed: bool = False
    verbs: bool = False
    collected: bool = False
    erlang: bool = False

    def programs(self):
        names = {*self.exact, *self.recorded, *(name for job in self.live for name in LIVE[job])}
        return names | set([KILLED] * self.killed) | set(VERBS * self.verbs) | set(COLLECTED * self.collected)


def script_of(plan):
    words = "\n".join(f"{name} {processes} {OPTIONS.get(name, '')}" for name, processes in {**plan.exact, **plan.recorded}.items())
    jobs = ["machine-job", *["machine-collected"] * plan.collected, *["machine-live"] * bool(plan.live),
            *["machine-erlang"] * plan.erlang]
    return (f"cat >/words <<END\n{words}\nEND\n" + f"echo {KILLED} >/killed\n" * plan.killed + "true >/verbs\n" * plan.verbs
            + f"live='{' '.join(plan.live)}'\n" + "".join((ROOT / "tests" / job).read_text() for job in jobs))


def boot(plan, out):
    """Runs the programs on an emulated machine, which leaves its files in `out`."""
    if "go_calls" in plan.programs():
        emulated.prepare("go")
    files = [emulated.ARM64 / "tests" / "prog" / name for name in sorted(plan.programs())]
    if plan.erlang:
        files += emulated.erlang(out)
    return emulated.boot(plan.kernel, out, script_of(plan), files)


def truths(out, name):
    lines = (out / f"{name}.own").read_text().splitlines()
    return {t["pid"]: t["sites"] for t in map(json.loads, (line for line in lines if line.startswith("{")))}


def recorded(machine, name, tmp_path):
    """What a program says about its processes, and what was recorded."""
    assert (machine / f"{name}.status").read_text() == "tracer 0\ntarget 0\n", (machine / f"{name}.err").read_text()
    return truths(machine, name), tally(events_of(machine / f"{name}.alys", tmp_path))


def assert_exact(machine, tmp_path, name, processes):
    truth, seen = recorded(machine, name, tmp_path)
    assert len(truth) == processes and seen.keys() == truth.keys()
    for pid in truth:
        assert_same(truth[pid], seen[pid], others=900 if name.startswith("cpp") else 100)
    assert_law(machine / f"{name}.alys")


def assert_whole(machine, tmp_path, name):
    recorded(machine, name, tmp_path)
    rows = assert_law(machine / f"{name}.alys").rows
    assert {row for row in rows if row.startswith("stack-end-")} == {"stack-end-complete"}


def assert_own_probes(machine, tmp_path):
    """Every form of an argument; the nop is emulated by the newer kernel and stepped over by the older one."""
    truth, seen = recorded(machine, "c_usdt", tmp_path)
    (pid, sites), = truth.items()
    assert sites["site_usdt_counted"]["allocs"] == 500, "the kernel raised its counter of tracers"
    assert_same(sites, seen[pid])
    book = assert_law(machine / "c_usdt.alys", lost=2)
    assert book.skipped == 0 and book.rows["unreadable"] == 2, "a negative weight and a negative size"
    assert re.search(r"^own probes +6 of 9 notes for allocations in \S+/c_usdt$", alys("info", machine / "c_usdt.alys").stdout, re.M)
    assert {row for row in book.rows if row.startswith("stack-end-")} == {"stack-end-complete"}


def assert_no_probe_is_left(machine):
    """Bytes of the program's code and its libraries' that differ from their files: while it was recorded, and after kill -9."""
    text = dict(line.split() for line in (machine / f"{KILLED}.text").read_text().splitlines())
    assert int(text["recording"]) > 0 and int(text["killed"]) == 0
    assert (machine / f"{KILLED}.status").read_text() == "target 0\n"


def assert_predicted(machine, name):
    """The collector's results were known at the entry. In emulation its calibration may not end in time; then calls are its trial."""
    said = (machine / f"{name}.err").read_text(errors="replace")
    proofs = r"(calibrated: \d+ calls agreed|\d{3,} first calls agreed, 0 did not: results are read at cheap exits now)$"
    assert re.search(rf"/(libgc\.so|c_gcthreads_static)\S*: {proofs}", said, re.M), said[-2000:]
    rows = assert_law(machine / f"{name}.alys").rows
    assert "mispredicted" not in rows
