# SPDX-License-Identifier: Apache-2.0
"""A recording of an Erlang VM in each output: functions by their names, with the bytes that the report has, and the program's own shares."""

import html
import json
import re
import shutil

import pytest

from browser_driver import HELPERS, READY, drive, need
from conftest import alys, assert_law, convert, pprof
from erlang import WORD, WORDS, compiled, table, vm  # noqa: F401 (fixtures)
from served import functions
from terminal import quit_cleanly, terminal  # noqa: F401 (a fixture)
from web_driver import wait_for

pytestmark = [pytest.mark.bpf, pytest.mark.beside]

ROOT_OF_ALL = "words:by_chance/2"


@pytest.fixture
def recorded(started, vm, tmp_path):
    """Gives a trace, and {function: bytes} of what words.erl says it calls by chance."""
    trace = tmp_path / "t.alys"
    program = vm("chance", 1000000, "+JPperf", "true")
    tracer = started.tracer("-p", program.pid, "--allocator", "beam", "-o", trace).recording()
    program.go().truths()
    tracer.stop()
    rows = {row["function"]: row for row in table(trace)}
    for name, words in WORDS.items():
        assert abs(rows[name]["percent"] - 100 * words / sum(WORDS.values())) < 4 * rows[name]["percent_error"], rows[name]
    return trace, {name: rows[name]["bytes"] for name in WORDS}


def folded(path):
    """{function: bytes where it is innermost}, and the sum of the stacks with a function."""
    stacks = [line.rsplit(" ", 1) for line in path.read_text().splitlines()]
    innermost = {}
    for stack, n in stacks:
        leaf = stack.split(";")[-1]
        innermost[leaf] = innermost.get(leaf, 0) + int(n)
    return innermost, lambda name: sum(int(n) for stack, n in stacks if name in stack.split(";"))


def test_profiles(recorded, tmp_path):
    """What is in use on these heaps is not known, so what was allocated is shown first."""
    need("go")
    trace, want = recorded
    path = convert(trace, "pprof", tmp_path / "t.pb.gz")
    assert "Type: alloc_space" in pprof("-top", path)
    found = functions(path, "alloc_space")
    assert {name: found[name] for name in want} == want
    assert "Erlang heaps:" in pprof("-comments", path)
    speedscope = json.loads(convert(trace, "speedscope", tmp_path / "t.speedscope").read_text())
    assert speedscope["profiles"][speedscope["activeProfileIndex"]]["name"] == "Allocated bytes"
    assert set(want) < {frame["name"] for frame in speedscope["shared"]["frames"]}


def test_stacks(recorded, tmp_path):
    trace, want = recorded
    innermost, through = folded(convert(trace, "folded-stacks", tmp_path / "t.folded"))
    assert {name: innermost[name] for name in want} == want
    assert through(ROOT_OF_ALL) >= sum(want.values())
    picture = convert(trace, "flamegraph", tmp_path / "t.svg").read_text()
    frames = {html.unescape(title): int(n) for n, title in re.findall(r'data-f="\d+ (\d+) \d+"><title>([^\n<]*)\n', picture)}
    assert {name: frames[name] for name in want} == want
    assert frames[ROOT_OF_ALL] == through(ROOT_OF_ALL)
    rows = convert(trace, "text", tmp_path / "t.txt").read_text().splitlines()[1:4]
    assert [(int(row.split()[2].replace(",", "")), row.split()[4]) for row in rows] == [(n, name) for name, n in want.items()]


def test_page(recorded, tmp_path):
    """It opens with what was allocated, and says that what is in use is not known."""
    trace, want = recorded
    page = convert(trace, "html", tmp_path / "t.html")
    seen = drive(tmp_path, f"file://{page}", READY + HELPERS + """
    return { names: await column(4), shares: await column(2), said: await page.$$eval(".notice", (n) => n.map((x) => x.textContent)) };
    """)
    shares = dict(zip(seen["names"], (float(share.strip("<% ")) for share in seen["shares"])))
    rows = {row["function"]: row["percent"] for row in table(trace)}
    assert all(abs(shares[name] - rows[name]) < 0.1 for name in want), (shares, rows)
    assert len(seen["said"]) == 1 and seen["said"][0].startswith("Heaps of Erlang processes: ")


def rates(screen):
    """Bytes a second by function."""
    found = {}
    for name in WORDS:
        cells, _ = screen.row(name)
        number, unit = re.fullmatch(r"([\d.]+)([KMG]?)", cells[2]).groups() if cells else ("0", "")
        found[name] = float(number) * {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}[unit]
    return found


@pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")
def test_top(vm, terminal):
    program = vm("chance", 1000000000, "+JPperf", "true").go()
    screen = terminal("-p", program.pid, "--allocator", "beam")
    screen.shows(*WORDS)
    screen.keys("a")
    screen.shows("largest allocation rate first")
    wait_for(lambda: all(rates(screen).values()))

    def as_the_program_says():
        found = rates(screen)
        whole = sum(found.values())
        return whole and all(abs(found[name] / whole - words / sum(WORDS.values())) < 0.05 for name, words in WORDS.items())
    wait_for(as_the_program_says)
    places = [screen.row(name)[1] for name in WORDS]
    assert places == sorted(places)
    quit_cleanly(screen)
    program.kill()


def test_beside_mappings(started, vm, tmp_path):
    """What the VM maps for a heap that grows, and the words on it, in one recording: neither counts as the other."""
    trace = tmp_path / "t.alys"
    program = vm("large", 3000000, "+JPperf", "true")
    tracer = started.tracer("-p", program.pid, "--allocator", "beam", "--maps", "--beside", "-o", trace).recording()
    truth = program.go().truths()[0]
    tracer.stop()
    rows = {row["function"]: row for row in table(trace)}
    words = sum(row["words"] for row in rows.values())
    assert truth["reclaimed"] * 0.95 <= words and rows["lists:seq_loop/3"]["words"] >= 2 * 3000000 * 0.99
    mapped = json.loads(alys("report", "--subject", "maps", "--by", "type", "--show", "alloc", "-f", "json", trace).stdout)["rows"]
    assert [row["type"] for row in mapped] == ["anonymous memory"] and mapped[0]["bytes"] > 2 * 3000000 * WORD
    assert_law(trace)
