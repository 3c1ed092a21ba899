# SPDX-License-Identifier: Apache-2.0
"""--max-overhead with report -p, top and the daemon."""

import json
import os
import re
import signal
import subprocess
import time

import pytest

from conftest import ALYS, TIMEOUT, Tracer, assert_clean, law, probe_programs, wait_until
from windows import FAR, SITES

pytestmark = pytest.mark.bpf


class Report(Tracer):
    """A running `report -p`."""

    def __init__(self, pid, *args):
        self.args = ["report", "-v", "-p", str(pid), *map(str, args)]
        self.proc = subprocess.Popen([str(ALYS), *self.args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.text = ""

    def rows(self):
        """The report's rows, once it has ended."""
        out, said = self.proc.communicate(timeout=TIMEOUT)
        assert self.proc.returncode == 0, said
        return json.loads(out)


def windows_of(d):
    """Number of windows so far, from the daemon's status."""
    return int(re.search(r"in (\d+) windows", d.status()["windows"]).group(1))


def truth_of(program):
    return program.truths()[0]["sites"]


@pytest.mark.parametrize("mode", ["steady", "bursty", "threads"])
def test_report_while_it_runs(started, mode):
    """The collector's counters are read at every window, so a report does not wait for the end."""
    program = started.program("c_gcrates", "4", mode).wait_ready()
    report = started.other(Report(program.pid, "-s", "bytes:4k", "--max-overhead", "3", "--show", "alloc", "-f", "json")).recording()
    program.go()
    truth = truth_of(program)
    assert program.finish() == 0
    told = report.rows()
    assert re.search(r"% of the time covered, in \d+ windows?; probes took", told["windows"]), told
    found = {row["site"].split()[0]: (row["bytes"], row["error"]) for row in told["rows"]}
    for site in SITES:
        size, error = found[site]
        assert error > 0 and abs(size - truth[site]["bytes"]) <= FAR * error, (site, found, truth)
    both, exact = sum(found[s][0] for s in SITES), sum(truth[s]["bytes"] for s in SITES)
    # What it allocates after the last window is counted, too, though no other stands for it. Where a stop is dear, windows are few, and
    # all of them may fall between bursts: the error of the total says so.
    far = max(0.3 * exact, FAR * told["total"]["error"])
    assert exact - far < both < 1.4 * exact, (both, exact, told["windows"])


def test_report_wants_samples(started):
    program = started.program("c_gcrates", "1", "steady").wait_ready()
    done = subprocess.run([ALYS, "report", "-p", str(program.pid), "--max-overhead", "1"], capture_output=True, text=True)
    assert done.returncode == 2 and "--max-overhead is for samples" in done.stderr
    program.go()
    assert program.finish() == 0


def test_daemon(started, daemon):
    """Estimates are right while the program runs, and status and metrics state the share covered."""
    program = started.program("c_gcrates", "4", "steady").wait_ready()
    d = daemon("-p", program.pid, "--sample", "bytes:4k", "--max-overhead", "3")
    d.until(lambda: d.traced() == 1)
    program.go()
    truth = truth_of(program)
    exact = sum(truth[s]["bytes"] for s in SITES)
    wait_until(lambda: 0.6 * exact < d.top(program.pid, "alloc_space")[None] < 1.6 * exact)
    found = d.top(program.pid, "alloc_space")
    assert found["site_rest"] > found["site_tenth"] > 0
    assert windows_of(d) > 0
    assert re.search(r"% of the time covered, in \d+ windows; probes took [\d.e+-]+ % of the programs' CPU time, of 3 % allowed",
                     d.status()["windows"])
    d.ctl("off")
    law(d)
    d.end()
    assert program.finish() == 0


def test_daemon_of_two_that_share_links(started, daemon):
    """Each process has its own estimate, also one that begins in the middle, and whatever the rate is meanwhile."""
    first = started.program("c_gcrates", "8", "steady").wait_ready()
    d = daemon("--name", "c_gcrates", "--sample", "bytes:4k", "--max-overhead", "3")
    d.until(lambda: d.traced() == 1)
    first.go()
    d.until(lambda: windows_of(d) > 1)
    d.ctl("sample", "bytes:8k")
    second = started.program("c_gcrates", "2", "steady").wait_ready()
    d.until(lambda: d.traced() == 2)
    second.go()
    exact = {}
    for program in (second, first):
        truth = truth_of(program)
        exact[program.pid] = sum(truth[s]["bytes"] for s in SITES)
    assert exact[first.pid] > 3 * exact[second.pid]
    for pid, size in exact.items():
        wait_until(lambda pid=pid, size=size: 0.5 * size < d.top(pid, "alloc_space")[None] < 2 * size)
    d.ctl("off")
    law(d)
    d.end()
    assert first.finish() == second.finish() == 0


def test_daemon_off_in_a_window(started, daemon):
    """Switched off and on again with another rate, at any moment: no probe stays, and windows resume."""
    before = probe_programs()
    program = started.program("c_gcrates", "30", "steady").wait_ready().go()
    d = daemon("-p", program.pid, "--sample", "bytes:4k", "--max-overhead", "1")
    for n in range(4):
        then = windows_of(d)
        d.until(lambda: windows_of(d) > then)
        d.ctl("sample", f"bytes:{4 + n}k")
        time.sleep(0.003 * n)
        d.ctl("off")
        law(d)
        d.ctl("on")
    d.end()
    assert_clean(program.pid, before)
    program.kill()


def test_daemon_killed_in_a_window(started, daemon):
    before = probe_programs()
    program = started.program("c_gcrates", "30", "steady").wait_ready().go()
    for n in range(2):
        d = daemon("-p", program.pid, "--sample", "bytes:4k", "--max-overhead", "1")
        d.until(lambda: windows_of(d) > n)
        d.proc.send_signal(signal.SIGKILL)
        d.proc.wait(TIMEOUT)
        assert_clean(program.pid, before)
    assert program.proc.poll() is None
    program.kill()


def test_many_turns(started, daemon):
    """Probes are attached and removed many times; ALYS_TURNS=10000 takes about half an hour."""
    turns = int(os.environ.get("ALYS_TURNS", "25"))
    before = probe_programs()
    program = started.program("torture.release", 200_000_000_000).wait_ready().go()
    d = daemon("-p", program.pid, "--sample", "bytes:4k", "--max-overhead", "5")
    d.until(lambda: windows_of(d) >= turns or program.proc.poll() is not None, TIMEOUT + turns)
    assert program.proc.poll() is None
    d.ctl("off")
    law(d)
    d.end()
    assert_clean(program.pid, before)
    program.kill()
