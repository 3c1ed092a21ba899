# SPDX-License-Identifier: Apache-2.0
"""
Debian's kernels on an emulated aarch64 machine run the cross-built program and test programs, one after another
(tests/machine-job). What is the same on each of them is checked here.
"""

import json
import re

import emulated
from conftest import ROOT, alys, assert_law, assert_same, events_of, tally

# Programs whose every call must be found, site by site; and how many of their processes say what they did.
EXACT = {"c_libc": 1, "c_threads": 1, "c_static": 1, "c_leaves": 1, "c_seccomp": 1, "cpp_new": 1, "cpp_exceptions": 1, "c_fork": 3,
         "c_gc": 1, "c_gcentries": 1, "c_gcthreads": 1, "c_gcback": 1, "alloc.debug": 1}
OPTIONS = {"c_fork": "--follow", "c_usdt": "-a usdt", "c_sdt": "-a usdt"}
LEFT = {"c_longjmp": 1, "c_siglongjmp": 1}
NOTED = {"c_usdt": 1, "c_sdt": 1}
# Whose stacks are looked at.
WALKED = {"go_calls": 1, "c_plt": 1}
RUN = {"6.1": {"c_libc": 1, "cpp_exceptions": 1, "c_usdt": 1}, "6.12": {**EXACT, **LEFT, **NOTED, **WALKED}}
KILLED = "c_grow"
VERBS = {"6.1": [], "6.12": ["c_malloc", "c_gclive", "c_mappings", "c_resident"]}
# With a collector (tests/machine-collected).
COLLECTED = {"6.1": [], "6.12": ["c_gclive", "alive.debug", "c_gcthreads", "c_gcthreads_static", "c_gcloaded"]}
# Met at work (tests/machine-live).
LIVE = {"6.1": [], "6.12": ["serving.release", "torture.release", "c_grow", "c_load", "c_loaded"]}
# An Erlang VM, on the newer kernel (tests/machine-erlang).
ERLANG = {"6.1": False, "6.12": True}


def boot(kernel, out):
    """Runs the programs for this kernel on an emulated machine, which leaves its files in `out`."""
    emulated.prepare("go")
    files = [emulated.ARM64 / "tests" / "prog" / name
             for name in {*RUN[kernel], *VERBS[kernel], *COLLECTED[kernel], *LIVE[kernel], KILLED}]
    words = "\n".join(f"{name} {processes} {OPTIONS.get(name, '')}" for name, processes in RUN[kernel].items())
    more = [job for job, wanted in (("machine-collected", COLLECTED), ("machine-live", LIVE), ("machine-erlang", ERLANG)) if wanted[kernel]]
    script = (f"cat >/words <<END\n{words}\nEND\necho {KILLED} >/killed\n" + ("true >/verbs\n" if VERBS[kernel] else "")
              + "".join((ROOT / "tests" / job).read_text() for job in ("machine-job", *more)))
    if ERLANG[kernel]:
        files += emulated.erlang(out)
    return emulated.boot(kernel, out, script, files)


def truths(out, name):
    lines = (out / f"{name}.own").read_text().splitlines()
    return {t["pid"]: t["sites"] for t in map(json.loads, (line for line in lines if line.startswith("{")))}


def recorded(machine, name, tmp_path):
    """What a program says about its processes, and what was recorded."""
    out = machine
    assert (out / f"{name}.status").read_text() == "tracer 0\ntarget 0\n", (out / f"{name}.err").read_text()
    return truths(out, name), tally(events_of(out / f"{name}.alys", tmp_path))


def assert_exact(machine, tmp_path, name):
    truth, seen = recorded(machine, name, tmp_path)
    assert len(truth) == EXACT[name] and seen.keys() == truth.keys()
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
    out = machine
    text = dict(line.split() for line in (out / f"{KILLED}.text").read_text().splitlines())
    assert int(text["recording"]) > 0 and int(text["killed"]) == 0
    assert (out / f"{KILLED}.status").read_text() == "target 0\n"
