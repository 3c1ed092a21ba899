# SPDX-License-Identifier: Apache-2.0
"""Where resident memory comes from: first touches of pages, compared with what the program and smaps_rollup say."""

import gzip
import json
import re
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import ALYS, TIMEOUT, alys, assert_law, convert

pytestmark = pytest.mark.bpf

PAGE = 4096
HUGE = 512


def rollup(pid, key):
    return int(re.search(rf"^{key}: +(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M).group(1)) * 1024


class Recording:
    """A recording of c_resident: what it printed, smaps_rollup before and after, and the trace."""

    def __init__(self, started, tmp_path, *args, options=()):
        self.trace = tmp_path / "t.alys"
        program = started.program("c_resident", tmp_path / "mapped", *args).wait_ready()
        tracer = started.tracer("--rss", *options, "-p", program.pid, "-o", self.trace).recording()
        self.start = rollup(program.pid, "Rss")
        program.go()
        self.truth = {}
        while "done" not in self.truth:
            name, touched, left = program.line().split()
            self.truth[name] = int(touched), int(left)
        del self.truth["done"]
        self.end = rollup(program.pid, "Rss")
        self.huge = rollup(program.pid, "AnonHugePages") // PAGE
        tracer.stop()
        program.finish()
        self.info = assert_law(self.trace)

    def rows(self, by, show, *options):
        answer = json.loads(alys("report", "--by", by, "--show", show, "--top", 0, *options, "-f", "json", self.trace).stdout)
        return {row[by]: row for row in answer["rows"]}

    def pages(self, show):
        """{function: pages}, callees included: in read() the kernel touches the pages."""
        return {name: row["count"] for name, row in self.rows("function", show, "--inclusive").items()}

    def counted(self, name):
        found = re.search(rf" {name} +(\d+)", alys("info", self.trace).stdout)
        return int(found.group(1)) if found else 0


def test_pages_of_each_kind(started, tmp_path):
    r = Recording(started, tmp_path, options=["--sample", "bytes:1"])
    touched, left = r.pages("alloc"), r.pages("live")
    if r.huge != 3 * HUGE:  # none were to be had
        r.truth["touch_huge"] = touched.get("touch_huge", 0), left.get("touch_huge", 0)
    # For lack of a free huge page the kernel gives one page, and may make a huge one of it later: by its doing, in no row.
    later, rest = divmod(r.truth["touch_huge"][0] - touched["touch_huge"], HUGE - 1)
    if later and not rest and later * (HUGE - 1) <= r.counted("pages-no-place"):
        r.truth["touch_huge"] = touched["touch_huge"], left["touch_huge"]
    # The page of its stack frame may have been resident before.
    assert abs(touched.pop("touch_stack") - r.truth["touch_stack"][0]) <= 1
    del r.truth["touch_stack"]
    copied = r.truth.pop("touch_copied")
    assert (touched.get("touch_copied", 0), left.get("touch_copied", 0)) == copied
    assert {name: (touched.get(name, 0), left.get(name, 0)) for name in r.truth} == r.truth

    types = r.rows("type", "live")
    assert types["shared memory"]["bytes"] == 120 * PAGE
    assert types.get("anonymous memory, huge pages", {"bytes": 0})["bytes"] == r.huge * PAGE

    live = sum(row["bytes"] for row in types.values())
    came = live + r.counted("pages-no-place") * PAGE
    unsure = 16 * PAGE * (1 + r.counted("pages-guessed"))
    assert abs(r.end - r.start - came) <= unsure, (r.start, r.end, came)

    assert "max overhead" not in alys("info", r.trace).stdout  # all were asked for
    text = alys("report", r.trace).stdout
    assert re.search(r"became resident: .* when it ended .* \(smaps_rollup\): .* in no row", text), text
    assert "had left unheard" not in text, text
    raw = gzip.decompress(convert(r.trace, "pprof", tmp_path / "t.pb.gz").read_bytes())
    assert b"rss_space" in raw and b"rss_pages" in raw and b"alloc_space" not in raw
    assert "touch_anonymous" in convert(r.trace, "folded-stacks", tmp_path / "t.folded").read_text()
    assert convert(r.trace, "html", tmp_path / "t.html").stat().st_size
    assert alys("diff", r.trace, r.trace).returncode == 0


def test_samples_of_many_pages(started, tmp_path):
    r = Recording(started, tmp_path, "many")
    truth = r.truth["touch_many"][0]
    row = r.rows("function", "live")["touch_many"]
    assert abs(row["bytes"] - truth * PAGE) <= 5 * row["error"], row
    assert r.counted("pages") < truth / 2  # most were passed over
    assert r.counted("lost") == 0


def test_report_of_a_running_process(started):
    program = started.program("c_touches").wait_ready()
    reporter = started.other(subprocess.Popen(
        [ALYS, "report", "-p", str(program.pid), "--subject", "rss", "--by", "function", "--inclusive", "--show", "alloc", "--top", "0",
         "--sample", "bytes:1", "-f", "json", "-v"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    while "pages that become resident" not in (said := reporter.stderr.readline()):
        assert said
    program.go()
    truth = {}
    while (line := program.line().split()) != ["done"]:
        truth[line[0]] = int(line[1])
    reporter.send_signal(signal.SIGINT)
    text, _ = reporter.communicate(timeout=TIMEOUT)
    rows = {row["function"]: row for row in json.loads(text)["rows"]}
    assert {name: rows[name]["count"] for name in truth} == truth
    for words in (["--heap"], ["--profile", "allocations", "--sample", "bytes:64k"]):
        done = alys("report", "-p", program.pid, "--subject", "rss", *words)
        assert done.returncode == 2 and "not about allocations" in done.stderr, done.stderr
    program.finish()


def test_refuses_what_is_of_allocations(tmp_path):
    for option in (["--min-size", "16"], ["--profile", "allocations"], ["--allocator", "libc"]):
        done = alys("record", "--rss", "--sample", "bytes:64k", *option, "-p", 1, "-o", tmp_path / "t.alys")
        assert done.returncode != 0 and "--rss records pages, not allocations" in done.stderr


def touches(started, trace, *options):
    """A recording of c_touches: {function: pages} as it says, and the recording's rows."""
    program = started.program("c_touches").wait_ready()
    tracer = started.tracer("--rss", *options, "-p", program.pid, "-o", trace).recording()
    program.go()
    truth = {}
    while (line := program.line().split()) != ["done"]:
        truth[line[0]] = int(line[1])
    tracer.stop()
    program.finish()
    assert_law(trace)
    answer = alys("report", "--subject", "rss", "--by", "function", "--inclusive", "--show", "alloc", "--top", 0, "-f", "json", trace)
    return truth, {row["function"]: row for row in json.loads(answer.stdout)["rows"]}


@pytest.mark.heavy
@pytest.mark.parametrize("beside", [[], ["--beside"]])
def test_a_budget_for_pages(started, tmp_path, beside):
    """Windows stand for all page faults of the program, as the kernel counts them."""
    trace = tmp_path / "t.alys"
    truth, rows = touches(started, trace, "--max-overhead", "2", *beside)
    for name, pages in truth.items():
        row = rows[name]
        assert abs(row["bytes"] - pages * PAGE) <= 5 * row["error"] + 0.02 * pages * PAGE, (pages * PAGE, row)
    # Which of the two a window met is chance; all that they stand for is what the kernel counted.
    everything = sum(truth.values()) * PAGE
    assert abs(sum(rows[name]["bytes"] for name in truth) - everything) <= everything / 4, rows
    info = alys("info", trace).stdout
    assert int(re.search(r"covered, in (\d+) windows", info).group(1)) > 2, info
    assert float(re.search(r"^windows +([\d.]+) % of the time", info, re.M).group(1)) < 90
    assert "max overhead 2 %" in info
