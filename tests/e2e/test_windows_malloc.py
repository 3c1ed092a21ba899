# SPDX-License-Identifier: Apache-2.0
"""--max-overhead for allocators without a collector: windows stand for the program's own CPU time."""

import json
import re
import signal

import pytest

from conftest import PROGS, STRAIGHT, TIMEOUT, alys, assert_clean, assert_law, law, probe_programs, wait_until
from windows import FAR, SITES, estimates, every, recorded, windows_of, work

pytestmark = pytest.mark.bpf

LIBRARIES = "/usr/lib/x86_64-linux-gnu/"
TURNS = 8000  # of work between two allocations: probes are felt, and most of the time is the program's


def spent(trace):
    """Shares of the programs' CPU time: all probes, and those that stay attached between windows."""
    line = re.search(r"^windows +(.*)$", alys("info", trace).stdout, re.M).group(1)
    kept = re.search(r"([\d.e+-]+) % at probes that stay in", line)
    return float(re.search(r"took ([\d.e+-]+) %", line).group(1)), float(kept.group(1)) if kept else 0


def met(trace):
    """The number of windows in which the program ran: few on a busy machine, as gaps are random."""
    return windows_of(trace) if "that no window met" not in alys("info", trace).stdout else 0


def assert_near(trace, truth):
    found = estimates(trace)
    for site in SITES:
        size, error = found[site]
        assert 0 < error and abs(size - truth[site]["bytes"]) <= FAR * error, (site, found, truth)


@pytest.mark.parametrize("program,library,mode", [
    ("c_rates", None, "bursty"), ("c_rates", None, "threads"), ("c_rates_musl", None, "steady"), ("cpp_rates", None, "steady"),
    ("c_rates", "libjemalloc.so.2", "steady"), ("c_rates", "libtcmalloc_minimal.so.4", "steady"),
    ("c_rates", "libmimalloc.so.2", "steady")])
def test_allocations(tmp_path, program, library, mode):
    """Frees are not probed, and estimates keep to their error."""
    trace = tmp_path / "t.alys"
    env = {"LD_PRELOAD": LIBRARIES + library} if library else None
    for _ in range(10):
        truth = recorded(trace, PROGS / program, "2", mode, work(TURNS), env=env,
                         args=("-s", every(4096), "--max-overhead", "5", "--profile", "allocations"))
        if met(trace) > 2:
            break
    book = assert_law(trace, lost=None)
    # Calls in flight when their exit probes are removed: at most one a thread and window.
    assert met(trace) > 2 and book.lost <= 5 * windows_of(trace), book
    # What samples took is measured: some hundred nanoseconds each, or a few thousand.
    assert 100 * book.recorded < book.rows["sample-time"] < 10_000 * book.recorded, book
    # Most results are told at entries where glibc keeps a thread's cache; other allocators' are seen at returns.
    assert library is None or 0 < book.rows["traps-return"] < book.rows["traps"], book
    assert spent(trace)[1] == 0
    assert_near(trace, truth)
    assert re.search(r"^profile +allocations$", alys("info", trace).stdout, re.M)
    assert "frees were not recorded" in alys("report", trace).stdout


@pytest.mark.parametrize("processes", [1, 2])
def test_a_function_that_nothing_called_before(processes, tmp_path):
    """
    Its probe stays between windows, as long as that costs nothing: from the first call on it comes and goes like the others. Also where
    processes share the link.
    """
    trace = tmp_path / "t.alys"
    program = f"{PROGS / 'c_later'} 8 steady {work(TURNS)}"
    done = alys("-vv", "--follow", "-o", trace, "-s", every(4096), "--max-overhead", "3", "--profile", "allocations", "--",
                "sh", "-c", " & ".join([program] * processes) + "; wait", env=STRAIGHT)
    assert done.returncode == 0, done.stderr
    stayed, left = "probes stay: nothing has hit them", "no longer stay: one was hit"
    assert stayed in done.stderr and left in done.stderr[done.stderr.index(stayed):], done.stderr
    book = assert_law(trace, lost=None)
    # Calls at probes that stay are no hits. In the 50 ms before it leaves there may be as many as in some windows.
    assert book.rows["outside-windows"] < book.rows["traps"] / 2, book
    assert spent(trace)[0] < 4.5
    truths = [json.loads(line)["sites"] for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(truths) == processes
    assert_near(trace, {site: {what: sum(t[site][what] for t in truths) for what in truths[0][site]} for site in truths[0]})


@pytest.mark.parametrize("program,mode", [("c_rates", "startup"), ("c_rates", "periodic"), ("c_gcrates", "startup")])
def test_bursts_that_no_window_meets(tmp_path, program, mode):
    """A site that was seen at the start and in no window since: its error covers what may have been missed."""
    trace = tmp_path / "t.alys"
    turns, rate = ([work(TURNS)], every(4096)) if program == "c_rates" else ([], "bytes:4k")
    assert_near(trace, recorded(trace, PROGS / program, "2", mode, *turns, args=("-s", rate, "--max-overhead", "1")))


def test_budget_under_a_load_that_changes_tenfold(tmp_path):
    """Attached all the time, probes would take about two thirds of the second half."""
    trace = tmp_path / "t.alys"
    truth = recorded(trace, PROGS / "c_rates", "5", "tenfold", work(1000),
                     args=("-s", "bytes:4k", "--max-overhead", "5", "--profile", "allocations"))
    assert windows_of(trace) > 0 and spent(trace)[0] < 20
    if met(trace):
        assert_near(trace, truth)
    rows = json.loads(alys("report", "--by", "time", "-f", "json", trace).stdout)["rows"]
    both = sum(estimates(trace)[site][0] for site in SITES)
    assert sum(row["alloc_bytes"] for row in rows) == pytest.approx(both, rel=0.01)


def test_processes_that_come_and_go(tmp_path):
    """fork, exec and dlopen in and between windows: every call is accounted for, and no probe is left."""
    before = probe_programs()
    trace = tmp_path / "t.alys"
    programs = " && ".join(f"{PROGS / name} >/dev/null" for name in ("c_fork", "c_exec", "c_dlopen"))
    done = alys("--force", "--follow", "-o", trace, "-s", "bytes:1k", "--max-overhead", "1", "--profile", "allocations", "--",
                "sh", "-c", f"for i in 1 2 3 4 5 6; do {programs} || exit 9; done", env=STRAIGHT)
    assert done.returncode == 0, done.stderr
    # Probes came out, whether a window was before the end or not.
    assert float(re.search(r"^windows +([\d.]+) % of the time covered", alys("info", trace).stdout, re.M).group(1)) < 100
    assert_law(trace, lost=None)
    wait_until(lambda: probe_programs() <= before)


def test_two_that_share_links(started, daemon):
    """Two processes with shared links: switched off in a window, on again, killed. No probe stays, and both go on."""
    before = probe_programs()
    programs = [started.program("c_rates", "60", "steady", work(TURNS)).wait_ready().go() for _ in range(2)]
    for n in range(2):
        d = daemon("-p", ",".join(str(p.pid) for p in programs), "--follow", "--sample", "bytes:4k", "--max-overhead", "5")
        d.until(lambda: re.search(r"in [1-9]\d* windows", d.status()["windows"]))
        if not n:
            d.ctl("off")
            law(d)
            d.ctl("on")
            d.end()
        else:
            d.proc.send_signal(signal.SIGKILL)
            d.proc.wait(TIMEOUT)
        for program in programs:
            assert_clean(program.pid, before)
            assert program.proc.poll() is None
    for program in programs:
        program.kill()


def test_in_use(tmp_path):
    """Frees are always probed, so sampled blocks do not stay in use after they are freed; the cost is stated."""
    trace = tmp_path / "t.alys"
    for _ in range(5):
        done = alys("--force", "-o", trace, "-s", "bytes:4k", "--max-overhead", "20", "--", PROGS / "c_rates", "2", "steady", work(4000),
                    env=STRAIGHT)
        assert done.returncode == 0, done.stderr
        if met(trace) > 2:
            break
    told = re.search(r"probes took .* % of the CPU time, not 20 %: .* stay in, and took ([\d.e+]+) %", done.stderr)
    assert told and float(told.group(1)) == spent(trace)[1] > 20, done.stderr
    assert met(trace) > 2
    assert_law(trace, lost=None)
    assert_near(trace, json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))["sites"])
    counts = {kind: int(re.search(rf"recorded-{kind} +(\d+)", alys("info", trace).stdout).group(1)) for kind in ("alloc", "free")}
    assert counts["alloc"] == counts["free"] > 0, counts


@pytest.mark.parametrize("options", [["-s", "bytes:4k", "--profile", "allocations"], ["-s", "bytes:4k"], ["--rss"]])
def test_cpu_time_of_processes_that_ended(tmp_path, options):
    """Children that live shorter than a look: what the kernel adds up for their parent is what the budget is a part of."""
    trace = tmp_path / "t.alys"
    done = alys("--force", "--follow", "-o", trace, "--max-overhead", "1", *options, "--", PROGS / "c_reaped", "30", "1600")
    truth = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    assert truth["own_cpu_s"] < 0.2 * truth["cpu_s"]
    told = float(re.search(r"CPU time \(([\d.e+-]+) s without them\)", alys("info", trace).stdout).group(1))
    # As of the last tick of each child, and without what probes took.
    assert 0.5 * truth["cpu_s"] < told < 1.1 * truth["cpu_s"], (told, truth)
