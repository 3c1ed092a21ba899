# SPDX-License-Identifier: Apache-2.0
"""Who maps address space (record --maps): compared with what the program and the kernel say."""

import gzip
import json
import re
from pathlib import Path

import pytest

from conftest import PROGS, alys, assert_law, convert

pytestmark = [pytest.mark.bpf, pytest.mark.beside]

PAGE = 4096
GIB = 1 << 30


def virtual_size(pid):
    return int(re.search(r"^VmSize:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.M).group(1)) * 1024


class Recording:
    """A recording of c_mappings: what it printed, its size before and after, and the trace."""

    def __init__(self, started, tmp_path, *args, options=(), processes=1):
        self.trace = tmp_path / "t.alys"
        program = started.program("c_mappings", tmp_path / "mapped", *args).wait_ready()
        tracer = started.tracer("--maps", *options, "-p", program.pid, "-o", self.trace).recording()
        self.start = virtual_size(program.pid)
        program.go()
        self.truth, done = {}, 0
        while done < processes:
            name, mapped, left = program.line().split()
            done += name == "done"
            self.truth[name] = int(mapped), int(left)
        del self.truth["done"]
        self.end = virtual_size(program.pid)
        tracer.stop()
        program.finish()
        self.info = assert_law(self.trace)

    def rows(self, by, show, *options):
        answer = json.loads(alys("report", "--by", by, "--show", show, "--top", 0, *options, "-f", "json", self.trace).stdout)
        return {row[by]: row for row in answer["rows"]}

    def pages(self, show):
        rows = self.rows("function", show, "--inclusive")
        return {name: row["bytes"] // PAGE for name, row in rows.items()}


def test_mappings_of_each_kind(started, tmp_path):
    r = Recording(started, tmp_path)
    mapped, left = r.pages("alloc"), r.pages("live")
    assert {name: (mapped.get(name, 0), left.get(name, 0)) for name in r.truth} == r.truth

    types = r.rows("type", "live")
    assert types["reserved addresses"]["bytes"] == 3 * GIB
    assert types["shared memory"]["bytes"] == 120 * PAGE
    assert types["pages of files"]["bytes"] == 110 * PAGE
    assert sum(row["bytes"] for row in types.values()) == r.end - r.start

    text = alys("report", r.trace).stdout
    assert re.search(r"mapped when the recording ended: .* \(VmSize\), of these .* \[before the recording\].* and 0 B by no", text), text
    assert "map_whole" in text and "unheard" not in text
    raw = gzip.decompress(convert(r.trace, "pprof", tmp_path / "t.pb.gz").read_bytes())
    assert b"map_space" in raw and b"map_count" in raw and b"alloc_space" not in raw
    assert "map_whole" in convert(r.trace, "folded-stacks", tmp_path / "t.folded").read_text()
    assert convert(r.trace, "html", tmp_path / "t.html").stat().st_size
    assert alys("diff", r.trace, r.trace).returncode == 0


def test_a_child_has_what_its_parent_mapped(started, tmp_path):
    r = Recording(started, tmp_path, "fork", options=["--follow"], processes=2)
    assert (r.pages("alloc")["map_whole"], r.pages("live")["map_whole"]) == r.truth["map_whole"]


def test_a_program_from_its_start(tmp_path):
    """What exec leaves behind is gone; the new program's own mappings have stacks from its first instruction."""
    trace = tmp_path / "t.alys"
    done = alys("record", "--maps", "-o", trace, "--", "sh", "-c", f"exec {PROGS / 'c_mappings'} {tmp_path / 'mapped'} < /dev/null")
    assert done.returncode == 1, done.stderr  # it read nothing
    assert_law(trace)
    assert "_dl_map" in alys("report", "--show", "alloc", "--by", "function", "--inclusive", trace).stdout


def test_refuses_what_is_of_allocations(tmp_path):
    for option in (["--sample", "bytes:64k"], ["--min-size", "16"], ["--allocator", "libc"], ["--calls", "f"]):
        done = alys("record", "--maps", *option, "-p", 1, "-o", tmp_path / "t.alys")
        assert done.returncode and "--maps records" in done.stderr and done.stderr.count("\n") == 1
