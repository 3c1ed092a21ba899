# SPDX-License-Identifier: Apache-2.0
"""Recordings that begin with a census (record --census): blocks of malloc from before, compared with a census at the end."""
import json
import os
import re
from pathlib import Path

import pytest

from conftest import alys
from web_driver import wait_for

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="not root: may not read other processes")

OLDER = "[before-the-recording]"


class Recording:
    """A program that is recorded from a census on."""

    def __init__(self, started, trace, program, *options):
        self.trace, self.program = trace, program
        self.tracer = started.tracer("--census", *options, "-p", program.pid, "-o", trace).recording()
        wait_for(lambda: self.tracer.has_said("census: "))
        self.said = re.search(r"census: (.*)", self.tracer.text)[1]

    def end(self):
        self.tracer.stop()
        self.info = alys("info", self.trace).stdout
        return self

    def rows(self, *options):
        done = alys("report", "-f", "json", *options, self.trace)
        assert done.returncode == 0, done
        return json.loads(done.stdout)["rows"]

    def in_use(self):
        return sum(row["count"] for row in self.rows())


def is_running(pid):
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def blocks_now(program):
    done = alys("census", "--freeze", "-f", "json", "-p", program.pid)
    return json.loads(done.stdout)["total"]["count"]


def ends(program):
    program.go()
    return json.loads(program.line())["live"]


@pytest.mark.bpf
@pytest.mark.beside
@pytest.mark.parametrize("run", range(3))
def test_in_use_at_the_end_is_exact(started, tmp_path, run):
    """Two threads replace their blocks all the time. What malloc itself frees when they end, their caches, is no call."""
    program = started.program("c_older").wait_ready()
    r = Recording(started, tmp_path / "t.alys", program, "--freeze")
    live = ends(program)
    r.end()
    caches = 2
    assert r.in_use() - caches == blocks_now(program) >= live, r.said
    assert int(re.match(r"([\d,]+) blocks from before", r.said)[1].replace(",", "")) > 1000, r.said
    assert "did not fit" not in r.said and re.search(r"; frozen for [\d.]+ ms$", r.said), r.said


@pytest.mark.bpf
@pytest.mark.beside
def test_without_stopping_it(started, tmp_path):
    """Chunks that malloc moves while they are read may be taken for blocks, or blocks for free ones: few."""
    program = started.program("c_older").wait_ready()
    r = Recording(started, tmp_path / "t.alys", program)
    ends(program)
    r.end()
    caches, now = 2, blocks_now(program)
    assert abs(r.in_use() - caches - now) <= now / 1000, r.said


@pytest.mark.bpf
@pytest.mark.beside
def test_frees_of_older_blocks_are_matched(started, tmp_path):
    program = started.program("c_held").wait_ready()
    r = Recording(started, tmp_path / "t.alys", program)
    program.go()
    truth = json.loads(program.line())
    r.end()
    sites = {row["site"]: row["count"] for row in r.rows()}
    # A guard, the buffer of standard input and the thread's cache.
    assert sites[OLDER] == truth["older"] + 3, sites
    assert r.in_use() == blocks_now(program)
    assert "frees of blocks from before" not in r.info and "carried over" in r.info, r.info
    allocated = r.rows("--show", "alloc")
    assert not any(row["site"] == OLDER for row in allocated if row["count"]), allocated


@pytest.mark.bpf
@pytest.mark.beside
def test_by_class_and_size(started, tmp_path):
    program = started.program("c_malloc", "1", "3")
    truth = json.loads(program.line())
    before = json.loads(alys("census", "-f", "json", "--top", "0", "-p", program.pid).stdout)
    r = Recording(started, tmp_path / "t.alys", program).end()
    rows = {row["type"]: (row["count"], row["bytes"]) for row in r.rows("--by", "type", "--top", "0")}
    assert rows == {row["type"]: (row["count"], row["bytes"]) for row in before["rows"]}
    assert (rows["shapes::Circle"][0], rows["Shape"][0]) == (700, 5) and truth["sizes"]
    assert r.said.startswith(f"{before['total']['count']:,} blocks from before the recording"), r.said
    assert f"census: {r.said}" in alys("report", r.trace).stdout


@pytest.mark.bpf
@pytest.mark.beside
def test_exports_have_older_blocks(started, tmp_path):
    program = started.program("c_held").wait_ready()
    r = Recording(started, tmp_path / "t.alys", program).end()
    folded = alys("convert", "-f", "folded-stacks", "--value", "inuse_space", "-o", "-", r.trace).stdout
    assert sum(int(line.split()[-1]) for line in folded.splitlines() if OLDER in line) > 100000, folded


@pytest.mark.bpf
@pytest.mark.beside
def test_recording_that_ends_too_soon(started, tmp_path):
    """The heap may have been read by then or not: either is said."""
    program = started.program("c_older", "still").wait_ready()
    tracer = started.tracer("--census", "-d", "0.001", "-p", program.pid, "-o", tmp_path / "t.alys")
    assert tracer.wait() == 0, tracer.text
    info = alys("info", tmp_path / "t.alys").stdout
    none = "blocks from before the recording are not in it: the recording ended before its heap was read" in tracer.text
    assert none == (re.search(r"^census +none: ", info, re.M) is not None) == ("carried over" not in info), (tracer.text, info)


@pytest.mark.bpf
@pytest.mark.beside
def test_damaged_heap(started, tmp_path):
    """The recording goes on without older blocks, and says why."""
    program = started.program("c_malloc", "5", "1")
    program.line()
    program.proc.stdin.write(b"b")
    program.proc.stdin.flush()
    program.line()
    r = Recording(started, tmp_path / "t.alys", program)
    assert "which leads out of its arena" in r.tracer.text, r.tracer.text
    r.end()
    assert re.search(r"^census +none: its heap could not be read$", r.info, re.M) and "carried over" not in r.info, r.info


@pytest.mark.bpf
@pytest.mark.beside
def test_program_that_ends_meanwhile(started, tmp_path):
    program = started.program("c_older").wait_ready()
    tracer = started.tracer("--census", "-p", program.pid, "-o", tmp_path / "t.alys").recording()
    program.kill()
    assert tracer.wait() == 0, tracer.text
    known = "census: " in tracer.text and "carried over" in alys("info", tmp_path / "t.alys").stdout
    assert known or "blocks from before the recording are not in it: " in tracer.text, tracer.text


@pytest.mark.bpf
@pytest.mark.beside
def test_readers_end_with_the_recording(started, tmp_path):
    program = started.program("c_older").wait_ready()
    tracer = started.tracer("--census", "-p", program.pid, "-o", tmp_path / "t.alys").recording()
    readers = Path(f"/proc/{tracer.proc.pid}/task/{tracer.proc.pid}/children").read_text().split()
    tracer.kill()
    wait_for(lambda: not any(is_running(pid) for pid in readers))
    assert program.proc.poll() is None and ends(program) > 0


def test_what_cannot_be_read_is_refused(started, tmp_path):
    program = started.program("c_musl").wait_ready()
    done = alys("record", "--census", "-p", program.pid, "-o", tmp_path / "t.alys")
    assert done.returncode == 3 and done.stderr.endswith("(c_musl): its malloc is not glibc's: its C library is musl\n"), done
    assert len(done.stderr.splitlines()) == 1 and not (tmp_path / "t.alys").exists()


@pytest.mark.parametrize("options, words", [
    (["-p", "1,2"], "--census is about what one running process has already"),
    (["--", "true"], "--census is about what one running process has already"),
    (["-p", "1", "--sample", "bytes:1k"], "--census needs every call"),
    (["-p", "1", "--rss"], "--census needs every call"),
    (["-p", "1", "--min-size", "100"], "--census needs every call"),
])
def test_what_does_not_go_together(options, words, tmp_path):
    done = alys("record", "-o", tmp_path / "t.alys", "--census", *options)
    assert done.returncode == 2 and words in done.stderr and len(done.stderr.splitlines()) == 1, done
