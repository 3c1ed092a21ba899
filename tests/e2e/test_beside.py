# SPDX-License-Identifier: Apache-2.0
"""Pages and mappings beside allocations: one recording, and nothing of one subject counts as another's."""

import gzip
import json
import re

import pytest

from browser_driver import need
from conftest import alys, assert_law, convert
from served import functions, metrics, served  # noqa: F401 (a fixture)
from web_driver import get, wait_for

pytestmark = pytest.mark.bpf

PAGE = 4096
BLOCK = 1 << 20


class Recording:
    """A recording of c_beside: what it printed, and the trace."""

    def __init__(self, started, tmp_path, *options):
        self.trace = tmp_path / "t.alys"
        program = started.program("c_beside").wait_ready()
        tracer = started.tracer(*options, "-p", program.pid, "-o", self.trace).recording()
        program.go()
        self.truth = {}
        while (line := program.line().split()) != ["done"]:
            self.truth[line[0]] = int(line[1]), int(line[2])
        tracer.stop()
        program.finish()
        self.book = assert_law(self.trace)

    def row(self, show, subject):
        done = alys("report", "--subject", subject, "--by", "function", "--inclusive", "--show", show, "--top", 0, "-f", "json", self.trace)
        return {row["function"]: row for row in json.loads(done.stdout)["rows"]}["take_blocks"]

    def check(self, subject):
        of = {
            "allocations": lambda row: (row["count"], row["bytes"] // row["count"] == BLOCK),
            "rss": lambda row: (row["count"], row["bytes"] == row["count"] * PAGE),
            "maps": lambda row: (row["bytes"] // PAGE, True),
        }[subject]
        taken, left = self.truth[subject]
        assert of(self.row("alloc", subject)) == (taken, True)
        assert of(self.row("live", subject)) == (left, True)


EXACT = ["--sample", "bytes:1", "--max-overhead", "0"]


def test_three_subjects_in_one_recording(started, tmp_path):
    r = Recording(started, tmp_path, "--rss", "--maps", "--beside", *EXACT)
    for subject in r.truth:
        r.check(subject)
    rows = r.book.rows
    assert rows["recorded-alloc"] >= 100 and rows["recorded-page"] >= 400 and rows["recorded-mapping"] >= 100, rows
    assert rows["hits-mapping"] == rows["recorded-mapping"] and rows["hits-unmapped"] == rows["recorded-unmapped"]


def test_each_has_its_own_sample_types_and_notes(started, tmp_path):
    r = Recording(started, tmp_path, "--rss", "--maps", "--beside", *EXACT)
    kinds = {"allocations": b"inuse_space", "rss": b"rss_space", "maps": b"map_space"}
    for subject, kind in kinds.items():
        raw = gzip.decompress(convert(r.trace, "pprof", tmp_path / f"{subject}.pb.gz", "--subject", subject).read_bytes())
        assert [other for other in kinds.values() if other in raw] == [kind]
        drawn = {"allocations": b"allocated_bytes", "rss": b"touched_bytes", "maps": b"mapped_bytes"}
        raw = convert(r.trace, "otlp", tmp_path / f"{subject}.otlp.pb", "--subject", subject).read_bytes()
        assert [other for other, period in drawn.items() if period in raw] == [subject]
        assert convert(r.trace, "html", tmp_path / f"{subject}.html", "--subject", subject).stat().st_size
        assert alys("diff", "--subject", subject, r.trace, r.trace).returncode == 0
    assert "became resident" not in alys("report", r.trace).stdout
    assert re.search(r"became resident: .* \(smaps_rollup\)", alys("report", "--subject", "rss", r.trace).stdout)
    assert re.search(r"mapped when the recording ended", alys("report", "--subject", "maps", r.trace).stdout)
    info = alys("info", r.trace).stdout
    assert re.search(r"^resident pages +touched .*, in use ", info, re.M) and re.search(r"^mappings +mapped .*, in use ", info, re.M), info
    assert len(re.findall(r"^process ", info, re.M)) == 1


def test_every_allocation_beside_sampled_pages(started, tmp_path):
    r = Recording(started, tmp_path, "--rss", "--beside")
    r.check("allocations")
    row = r.row("alloc", "rss")
    assert abs(row["bytes"] - r.truth["rss"][0] * PAGE) <= 5 * row.get("error", 0) + PAGE, row


def test_pages_and_mappings_without_allocations(started, tmp_path):
    r = Recording(started, tmp_path, "--rss", "--maps", "--sample", "bytes:1")
    r.check("rss")
    r.check("maps")
    done = alys("report", "--subject", "allocations", r.trace)
    assert done.returncode == 3 and done.stderr.strip().endswith("allocations were not recorded in this trace")
    assert "Pages" in alys("report", r.trace).stdout


def test_a_forked_child_has_a_heap_of_each(started, tmp_path):
    trace = tmp_path / "t.alys"
    done = alys("record", "--rss", "--beside", "--follow", "-o", trace, "--", "sh", "-c", "(true); (true)")
    assert done.returncode == 0, done.stderr
    assert_law(trace)
    for subject in "allocations", "rss":
        done = alys("report", "--subject", subject, "--by", "process", "--show", "alloc", trace)
        assert done.returncode == 0, done.stderr
        assert re.search(r"^ *\d.* sh \(", done.stdout, re.M), done.stdout


def test_beside_what(tmp_path):
    done = alys("record", "--beside", "-p", 1, "-o", tmp_path / "t.alys")
    assert done.returncode == 2 and "--beside is for --rss and --maps" in done.stderr


PROFILES = {"allocations": "inuse_space", "rss": "rss_space", "maps": "map_space"}


def left_by(url, subject):
    """Bytes of take_blocks itself: without the page that malloc wrote to."""
    return functions(f"{url}&subject={subject}", PROFILES[subject]).get("take_blocks", 0)


def test_the_daemon_has_all_three(started, served, tmp_path):
    need("go")
    program = started.program("c_beside").wait_ready()
    config = tmp_path / "config"
    config.write_text(f"rss\nmaps\nbeside\npid {program.pid}\nprofile-dir {tmp_path / 'profiles'}\n")
    (tmp_path / "profiles").mkdir(mode=0o777)
    (tmp_path / "profiles").chmod(0o777)
    server = served("--config", config)
    program.go()
    truth = {}
    while (line := program.line().split()) != ["done"]:
        truth[line[0]] = int(line[2])
    wanted = {"allocations": truth["allocations"] * BLOCK, "rss": truth["rss"] * 3 // 4 * PAGE}
    heap = f"{server.url}/debug/pprof/heap?pid={program.pid}"
    for subject, size in wanted.items():
        wait_for(lambda: abs(left_by(heap, subject) - size) < size / 1000)
        wait_for(lambda: abs(left_by(f"{server.url}/debug/pprof/heap?", subject) - size) < size / 1000)
    wait_for(lambda: functions(f"{heap}&subject=maps", "map_space"))
    assert server.status()["recorded"] == "allocations, resident pages, mappings"
    assert len(server.status()["table"]) == 1
    found = metrics(server)
    assert found['alys_hits_total{kind="hits-page"}'] >= 400, [name for name in found if 'page' in name]
    server.ctl("rotate")
    wait_for(lambda: {p.name.split(".")[0].rsplit("-", 1)[1] for p in (tmp_path / "profiles").glob("c_beside-*")} >= {"rss", "maps"})
    assert get(f"{server.url}/debug/pprof/heap?subject=disk").status == 400
    program.finish()


def test_the_daemon_refuses_what_it_does_not_record(started, served):
    program = started.program("c_beside").wait_ready()
    server = served("-p", program.pid, "--rss")
    answer = get(f"{server.url}/debug/pprof/heap?pid={program.pid}&subject=maps")
    assert answer.status == 404 and "mappings are not recorded" in answer.text
    assert server.status()["recorded"] == "resident pages"
    program.finish()


def test_nothing_seems_to_be_counted_twice_while_counters_move(started, daemon):
    """Hits are read after their outcomes."""
    programs = [started.program("c_rates", "60", "threads", "200").wait_ready().go() for _ in range(2)]
    d = daemon("-p", ",".join(str(p.pid) for p in programs), "--rss", "--beside", "--sample", "bytes:4k")
    accounts = [d.status()["account"] for _ in range(40)]
    assert len(set(accounts)) > 1
    assert not [text for text in accounts if "counted twice" in text]
    d.end()
