# SPDX-License-Identifier: Apache-2.0
"""--max-overhead for allocators without a collector: windows stand for the program's own CPU time."""

import json
import re

import pytest

from conftest import PROGS, STRAIGHT, alys, assert_law
from windows import FAR, SITES, estimates, recorded, windows_of

pytestmark = pytest.mark.bpf

LIBRARIES = "/usr/lib/x86_64-linux-gnu/"
TURNS = "8000"  # of work between two allocations: probes are felt, and most of the time is the program's


def spent(trace):
    """Shares of the programs' CPU time: all that probes took, and what those took that stay in."""
    line = re.search(r"^windows +(.*)$", alys("info", trace).stdout, re.M).group(1)
    kept = re.search(r"([\d.e+-]+) % at probes that stay in", line)
    return float(re.search(r"took ([\d.e+-]+) %", line).group(1)), float(kept.group(1)) if kept else 0


@pytest.mark.parametrize("program,library,mode", [
    ("c_rates", None, "steady"), ("c_rates", None, "bursty"), ("c_rates", None, "threads"), ("c_rates_musl", None, "steady"),
    ("cpp_rates", None, "steady"), ("c_rates", "libjemalloc.so.2", "steady"), ("c_rates", "libtcmalloc_minimal.so.4", "steady"),
    ("c_rates", "libmimalloc.so.2", "steady")])
def test_allocations(tmp_path, program, library, mode):
    """Frees are not probed, the budget is kept, and estimates keep to their error."""
    trace = tmp_path / "t.alys"
    env = {"LD_PRELOAD": LIBRARIES + library} if library else None
    truth = recorded(trace, PROGS / program, "3", mode, TURNS, env=env,
                     args=("-s", "bytes:4k", "--max-overhead", "5", "--profile", "allocations"))
    found = estimates(trace)
    book = assert_law(trace, lost=None)
    assert windows_of(trace) > 0
    assert book.lost < 0.01 * book.hits + 2, book
    # Most of it is the first 50 ms, when probes were in.
    total, kept = spent(trace)
    assert kept == 0 and total < 15, (total, kept)
    for site in SITES:
        size, error = found[site]
        assert 0 < error and abs(size - truth[site]["bytes"]) <= FAR * error, (site, found, truth)
    info = alys("info", trace).stdout
    assert re.search(r"^profile +allocations$", info, re.M), info
    assert "frees were not recorded" in alys("report", trace).stdout


def test_in_use(tmp_path):
    """Frees are always seen, so that nothing of a window outlives its end; what that costs is said."""
    trace = tmp_path / "t.alys"
    done = alys("--force", "-o", trace, "-s", "bytes:4k", "--max-overhead", "20", "--", PROGS / "c_rates", "3", "steady", "1000",
                env=STRAIGHT)
    assert done.returncode == 0, done.stderr
    told = re.search(r"probes took .* % of the CPU time, not 20 %: .* stay in, and took ([\d.e+]+) %", done.stderr)
    assert told and float(told.group(1)) == spent(trace)[1] > 20, done.stderr
    assert windows_of(trace) > 0
    assert_law(trace, lost=None)
    truth = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))["sites"]
    found = estimates(trace)
    for site in SITES:
        assert abs(found[site][0] - truth[site]["bytes"]) <= FAR * found[site][1], (site, found, truth)
    counts = {kind: int(re.search(rf"recorded-{kind} +(\d+)", alys("info", trace).stdout).group(1)) for kind in ("alloc", "free")}
    assert counts["alloc"] == counts["free"] > 0, counts
