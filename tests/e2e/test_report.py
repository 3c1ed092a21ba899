# SPDX-License-Identifier: Apache-2.0
"""The verbs report and diff: from scripted recordings (no root), and live; totals against valgrind's DHAT."""

import collections
import json
import os
import re
import select
import shutil
import signal
import subprocess
import time
import xml.dom.minidom

import pytest

from browser_driver import drive
from conftest import ALYS, BUILD, PROGS, ROOT, Tracer, alys, make, wait_until

FORMATS = ("text", "markdown", "tsv", "json", "csv", "tally")
GOLDEN = ROOT / "tests" / "golden" / "report"
FEED = BUILD / "tests" / "feedfile"


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    """Traces made from the scripts in tests/golden/report."""
    make(FEED)
    folder = tmp_path_factory.mktemp("traces")
    for script in GOLDEN.glob("*.feed"):
        out = folder / (script.stem + ".alys")
        subprocess.run([str(FEED), str(out)], stdin=script.open(), check=True, timeout=60)
    return folder


def ask(*args, env=None):
    done = alys(*args, env={**os.environ, **(env or {})})
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(status, *args):
    done = alys(*args)
    lines = done.stderr.strip().split("\n")
    assert done.returncode == status, (done.returncode, done.stderr)
    assert len(lines) == 1 and lines[0].startswith("alys-bpf: "), done.stderr
    assert done.stdout == ""
    return lines[0]


# --- the command line says what the unit tests' goldens hold ---------------------------------------

@pytest.mark.parametrize("golden, args, env", [
    ("memprof.md", ["--by", "stack", "-f", "markdown", "crystal"], {}),
    ("memprof.tsv", ["--by", "stack", "-f", "tsv", "crystal"], {}),
    ("memprof-min-bytes.tsv", ["--by", "stack", "-f", "tsv", "crystal"], {"MEMPROF_MIN_BYTES": "100"}),
    ("memprof-depth-skip.tsv", ["--by", "stack", "-f", "tsv", "crystal"],
     {"MEMPROF_STACK_DEPTH": "2", "MEMPROF_STACK_SKIP": "1"}),
    ("counts.tsv", ["--by", "type", "-f", "tsv", "--columns", "count,type", "crystal"], {}),
    ("sizes.tsv", ["--by", "type", "-f", "tsv", "--columns", "bytes,type", "crystal"], {}),
    ("tally.txt", ["--by", "type", "--show", "alloc", "--sort", "count", "--ascending", "-f", "tally", "crystal"], {}),
    ("callstacks.txt", ["--type", "Crystal::SpinLock", "--depth", "3", "crystal"], {}),
    ("callstacks.txt", ["crystal"], {"TRACE_TARGET": "Crystal::SpinLock", "TRACE_BACKTRACE_LIMIT": "3"}),
    ("callstacks-min-count.txt", ["--type", "Crystal::SpinLock", "crystal"],
     {"TRACE_BACKTRACE_LIMIT": "2", "TRACE_MIN_COUNT": "2"}),
    ("functions.txt", ["--by", "function", "--show", "alloc", "--ascending", "cpp"], {}),
    ("functions-inclusive.txt", ["--inclusive", "--show", "alloc", "cpp"], {}),
    ("callers.txt", ["--callers", "serve()", "--show", "alloc", "cpp"], {}),
    ("callees.txt", ["--callees", "serve()", "--show", "alloc", "cpp"], {}),
    ("leaked.txt", ["--show", "leaked", "cpp"], {}),
    ("peak.txt", ["--show", "peak", "cpp"], {}),
    ("time.tsv", ["--by", "time", "--top", "8", "-f", "tsv", "cpp"], {}),
    ("pid.txt", ["-p", "101", "--show", "alloc", "cpp"], {}),
    ("sampled.txt", ["sampled"], {}),
])
def test_report(traces, golden, args, env):
    told = ask("report", *args[:-1], traces / (args[-1] + ".alys"), env=env)
    assert told == (GOLDEN / golden).read_text()


@pytest.mark.parametrize("golden, args", [
    ("diff.txt", []),
    ("diff.md", ["-f", "markdown"]),
    ("diff.json", ["-f", "json", "--show", "peak"]),
    ("diff-stack.txt", ["--by", "stack", "--show", "alloc", "--top", "3"]),
])
def test_diff(traces, golden, args):
    told = ask("diff", "--per", "recording", *args, traces / "cpp.alys", traces / "later.alys")
    # The goldens' recordings do not say how long they are.
    assert re.sub(r"(- `|\")?before was recorded for[^\n\"`]*(`\n|\",|\n)", "", told) == (GOLDEN / golden).read_text()


def test_no_difference_is_said(traces):
    trace = traces / "cpp.alys"
    assert "\nnothing differs\n" in ask("diff", trace, trace)
    assert "nothing differs" not in ask("diff", "--min-bytes", "1G", "--per", "recording", trace, traces / "later.alys")


def test_recordings_of_unequal_length_are_compared_per_second(traces, tmp_path):
    """By default allocations; live memory at the end only on request. The title says which."""
    both = (traces / "cpp.alys", traces / "later.alys")
    before, after = (float(s) for s in re.search(r"before was recorded for ([\d.]+) s, after for ([\d.]+) s: compared per second",
                                                 ask("diff", "--show", "alloc", *both)).groups())
    assert abs(before - after) > 0.05 * max(before, after)
    rate, sums = (json.loads(ask("diff", "--show", "alloc", "-f", "json", *more, *both)) for more in ([], ["--per", "recording"]))
    assert rate["per_second"] and not sums["per_second"]
    of = {row["function"]: row for row in sums["rows"]}
    for row in rate["rows"]:
        assert abs(row["before_bytes"] - of[row["function"]]["before_bytes"] / before) <= 1 + row["before_bytes"] * 0.01
        assert abs(row["after_bytes"] - of[row["function"]]["after_bytes"] / after) <= 1 + row["after_bytes"] * 0.01
    assert ask("diff", "--show", "alloc", *both).startswith("Bytes allocated per second, before and after\n\n")
    live = ask("diff", *both)
    assert live.startswith("Bytes in use at the end, before and after\n\n") and "not compared per second; --per second does" in live
    assert ask("diff", "--per", "second", *both).startswith("Bytes in use at the end per second recorded, before and after")
    # The picture says the same of the same.
    for more, title in (["--show", "alloc"], "Bytes allocated per second, before and after"), ([], "Bytes in use at the end, before and after"):
        out = tmp_path / f"{len(more)}.svg"
        ask("diff", "--flamegraph", out, *more, *both)
        assert f">{title}<" in out.read_text()
    text = (tmp_path / "2.svg").read_text()
    opened = next(row for row in rate["rows"] if row["function"] == "Session::open(int)")
    said = re.search(r"<title>Session::open\(int\)\n(?:.*\n)*?from ([\d.]+) B/s to ([\d.]+) B/s", text)
    assert said and [float(n) for n in said.groups()] == [opened["before_bytes"], opened["after_bytes"]]


def test_recordings_of_equal_length_are_compared_as_they_are(traces):
    told = ask("diff", "--show", "alloc", traces / "cpp.alys", traces / "cpp.alys")
    assert told.startswith("Bytes allocated, before and after\n\n") and "was recorded for" not in told


def test_at_a_time(traces):
    """The table at a moment equals the sum of the script's lines up to it."""
    def live(*args):
        told = json.loads(ask("report", "--by", "process", "-f", "json", *args, traces / "cpp.alys"))
        return told["total"]["count"], told["total"]["bytes"]
    assert live("--at", "0.9") == (1, 1000000)
    assert live("--at", "1.55") == (12, 1001064)
    assert live("--at", "1.7") == (11, 1001000)
    assert live("--at", "99") == live() == (55, 5301)


def test_at_a_time_after_the_end(traces):
    """The title says that this is the heap at the end of the recording."""
    late, inside = (alys("report", "--at", at, traces / "cpp.alys") for at in ("99", "1.7"))
    assert late.returncode == inside.returncode == 0 and inside.stderr == ""
    assert late.stderr == "alys-bpf: the recording lasts 5.500 s: showing its end, which is before 99 s\n"


def test_info_states_the_error_of_estimates(traces):
    sampled, exact = (ask("info", traces / f"{name}.alys") for name in ("sampled", "cpp"))
    assert re.search(r"^allocated +188 \+- 27 blocks, 372.3 KiB \+- 25.4 KiB \(estimated\)$", sampled, re.M), sampled
    assert re.search(r"^in use +141 \+- 23 blocks, 327.2 KiB \+- 22.0 KiB at the end", sampled, re.M), sampled
    assert "+-" not in exact


def test_between(traces):
    """Counts only blocks allocated in the interval; frees of older ones are ignored."""
    told = json.loads(ask("report", "--by", "function", "-f", "json", "--between", "2.55,4.2s", traces / "cpp.alys"))
    assert {r["function"]: r["count"] for r in told["rows"]} == {
        "Session::open(int)": 20, "help": 1, "libblob.so+0x1110": 1}
    told = json.loads(ask("report", "--show", "alloc", "--by", "function", "-f", "json", "--between", "2.55,2.65",
                          traces / "cpp.alys"))
    assert told["total"] == {"count": 1, "percent": 100, "bytes": 500, "per_call": 500}


# --- bad input: one sentence ------------------------------------------------------------------------

@pytest.mark.parametrize("status, words, args", [
    (3, 'no allocation is of type "Nope"', ["--type", "Nope", "crystal"]),
    (3, 'no stack has a function "Nope"', ["--callers", "Nope", "cpp"]),
    (3, "no event between 50 s and 60 s: the recording lasts 5.5 s", ["--between", "50,60", "cpp"]),
    (3, "no event up to 0.01 s", ["--at", "0.01", "cpp"]),
    (2, "wants two times", ["--between", "3,2", "cpp"]),
    (2, "wants two times", ["--between", "3", "cpp"]),
    (2, "wants two times", ["--between", "1,2,3", "cpp"]),
    (3, "nothing is live", ["freed"]),
    (1, '"((" is no regular expression', ["--focus", "((", "cpp"]),
    (1, '"[" is no regular expression', ["--ignore", "[", "cpp"]),
    (3, "the trace has no call stacks", ["--by", "stack", "nostacks"]),
    (3, "process 4 has no allocation in the trace", ["-p", "4", "cpp"]),
    (1, 'no column "nope"', ["--columns", "nope", "cpp"]),
    (2, "--by wants one of", ["--by", "colour", "cpp"]),
    (2, "--top wants a whole number", ["--top", "4k", "cpp"]),
    (2, "--every and --duration are for -p PID", ["--every", "5", "cpp"]),
    (2, "--html writes one page with all views", ["--html", "/dev/null", "--by", "type", "cpp"]),
    (2, "--html writes one page with all views", ["--html", "/dev/null", "--focus", "serve", "cpp"]),
    (1, "cannot be recognized in samples", ["--show", "temporary", "sampled"]),
    (3, "no heap of an Erlang process is in the trace: record an Erlang VM", ["--by", "erlang-process", "cpp"]),
    (2, "exclude each other", ["--at", "1", "--between", "1,2", "cpp"]),
])
def test_refused(traces, status, words, args):
    assert words in refused(status, "report", *args[:-1], traces / (args[-1] + ".alys"))


def test_refused_without_a_trace(traces, tmp_path):
    junk = tmp_path / "junk.alys"
    junk.write_text("no trace")
    assert "nothing to report on" in refused(2, "report")
    assert "junk.alys" in refused(1, "report", junk)
    assert "cannot open" in refused(3, "report", tmp_path / "none.alys")
    assert "missing argument" in refused(2, "diff", traces / "cpp.alys")
    for by in "thread", "erlang-process":
        assert f"--by {by}" in refused(1, "diff", "--by", by, traces / "cpp.alys", traces / "cpp.alys")


@pytest.mark.parametrize("words", [["--print-man"], ["--help"], ["info", "TRACE"], ["report", "TRACE"], ["convert", "TRACE", "-"],
                                   ["doctor", "--unwind", ALYS]])
def test_output_that_cannot_be_written(traces, words):
    """Output that cannot be written, long or short, is a failure."""
    with open("/dev/full", "w") as full:
        done = subprocess.run([ALYS, *(traces / "cpp.alys" if w == "TRACE" else w for w in words)], stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1 and "No space left" in done.stderr, done.stderr


def test_no_such_verb():
    done = subprocess.run([ALYS, "repot", "a.alys"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1
    assert 'unknown verb "repot"' in done.stderr and "report" in done.stderr


# --- hostile names in Markdown -----------------------------------------------------------------------

@pytest.mark.skipif(not shutil.which("cmark-gfm"), reason="no cmark-gfm")
@pytest.mark.parametrize("by", ["stack", "function", "process"])
def test_hostile_names_in_markdown_do_nothing(traces, tmp_path, by):
    """Rendered by GitHub's library with raw HTML allowed: every name is text in its own cell, and no script runs."""
    md = ask("report", "--by", by, "-f", "markdown", traces / "hostile.alys")
    html = subprocess.run(["cmark-gfm", "--unsafe", "-e", "table"], input=md, capture_output=True, text=True, check=True).stdout
    page = tmp_path / "hostile.html"
    page.write_text("<!doctype html><meta charset=utf-8>" + html)
    seen = drive(tmp_path, f"file://{page}", """
    return { tags: await page.$$eval("body *", (all) => Array.from(new Set(all.map((x) => x.tagName)))),
             cells: await page.$$eval("td", (all) => all.map((x) => x.innerText)),
             heads: await page.$$eval("th", (all) => all.length), rows: await page.$$eval("tbody tr", (all) => all.length) };
    """)
    assert set(seen["tags"]) <= {"TABLE", "THEAD", "TBODY", "TR", "TH", "TD", "CODE", "BR", "UL", "LI"}
    assert len(seen["cells"]) == seen["heads"] * seen["rows"]
    text = "\n".join(seen["cells"])
    names = ["<img src=x onerror=alert(1)>"] if by == "process" else [
        "<script>alert(1)</script>", "=cmd|'/c calc'!A1", "``</td>\"',;", "Foo#`"]
    assert all(name in text for name in names), text


# --- pictures and pprof ----------------------------------------------------------------------------

def test_differential_flame_graph(traces, tmp_path):
    out = tmp_path / "d.svg"
    ask("diff", "--show", "alloc", "--per", "recording", "--flamegraph", out, traces / "cpp.alys", traces / "later.alys")
    svg = xml.dom.minidom.parse(str(out))
    tips = {t.firstChild.data.split("\n")[0]: (t.firstChild.data, t.parentNode.getElementsByTagName("rect")[0])
            for t in svg.getElementsByTagName("title")}
    assert "from 976.6 KiB to 2.9 MiB, +1.9 MiB" in tips["Cache::Cache(unsigned long)"][0]
    assert "from 4.9 KiB to 1.2 KiB, -3.7 KiB" in tips["Session::open(int)"][0]
    assert "from 5.4 KiB to 0 B" in tips["grow"][0]

    def red_over_blue(name):
        colour = tips[name][1].getAttribute("fill")
        return int(colour[1:3], 16) - int(colour[5:7], 16)
    assert red_over_blue("Cache::Cache(unsigned long)") > 40
    assert red_over_blue("Session::open(int)") < -40
    assert red_over_blue("grow") < red_over_blue("Session::open(int)")
    assert "Bytes allocated, before and after" in out.read_text()
    # Unless told otherwise that of the table, which says what it is.
    live, table = tmp_path / "live.svg", ask("diff", traces / "cpp.alys", traces / "later.alys")
    ask("diff", "--flamegraph", live, traces / "cpp.alys", traces / "later.alys")
    assert "Bytes in use at the end, before and after" in live.read_text() and "inuse_space: " in live.read_text()
    assert table.startswith("Bytes in use at the end, before and after\n")
    assert "--show live or --show alloc" in refused(1, "diff", "--show", "peak", "--flamegraph", tmp_path / "p.svg",
                                                    traces / "cpp.alys", traces / "later.alys")
    assert "d.svg" in refused(1, "diff", "--flamegraph", out, traces / "cpp.alys", traces / "later.alys")


@pytest.mark.skipif(not shutil.which("go"), reason="no go")
def test_pprof_diff_base(traces, tmp_path):
    for name in ("cpp", "later"):
        ask("convert", "-f", "pprof", traces / f"{name}.alys", tmp_path / f"{name}.pb.gz")
    said = subprocess.run(["go", "tool", "pprof", "-top", "-unit=B", "-sample_index=alloc_space", "-nodecount=50",
                           "-nodefraction=0", f"-diff_base={tmp_path}/cpp.pb.gz", str(tmp_path / "later.pb.gz")],
                          capture_output=True, text=True, timeout=60, env={**os.environ, "HOME": str(tmp_path)})
    flat = {line.split(None, 5)[5]: line.split()[0] for line in said.stdout.split("\n") if re.match(r"\s+-?\d+B ", line)}
    ours = json.loads(ask("diff", "--show", "alloc", "--per", "recording", "-f", "json", traces / "cpp.alys", traces / "later.alys"))
    named = [r for r in ours["rows"] if r["function"] in ("Session::open(int)", "Pool::Pool()", "grow")]
    assert len(named) == 3, said.stderr
    for row in named:
        name = row["function"].replace("(int)", "").replace("()", "")
        theirs = [v for k, v in flat.items() if k.startswith(name)]
        assert theirs == [f"{row['change_bytes']}B"], said.stdout


def test_page(traces, tmp_path):
    out = tmp_path / "page.html"
    ask("report", "--html", out, traces / "cpp.alys")
    assert out.read_text().startswith("<!doctype html>")
    again = alys("report", "--html", out, traces / "cpp.alys")
    assert again.returncode == 1 and "page.html" in again.stderr.strip().split("\n")[-1]


PAGE = """
await page.waitForFunction(() => document.documentElement.dataset.shown);
const text = (at) => page.locator(at).innerText();
const out = { subtitle: await text("#subtitle"), notice: await text(".notice"), interval: await text("#interval"), sum: await text("#flame-sum") };
out.ticks = await page.$$eval("#timeline .axis", (axes) => axes[0].textContent);
await page.focus("#timeline");
await page.keyboard.press("ArrowRight");
await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
return { ...out, chosen: await text("#interval") };
"""


def page_of(traces, tmp_path, *args):
    out = tmp_path / "part.html"
    ask("report", "--force", "--html", out, *args, traces / "cpp.alys")
    return drive(tmp_path, f"file://{out}", PAGE)


def test_page_of_an_interval(traces, tmp_path):
    """The page has the numbers of the same interval's table, with times relative to the recording."""
    told = json.loads(ask("report", "--by", "process", "-f", "json", "--between", "2.55,4.2", traces / "cpp.alys"))
    seen = page_of(traces, tmp_path, "--between", "2.55,4.2")
    assert told["total"]["bytes"] == 2205 and seen["sum"].startswith("In use: 2.15 KiB.")
    assert seen["interval"].startswith("2.55 s to 4.") and seen["interval"].endswith("of the recording")
    assert seen["interval"] in seen["notice"] and "blocks allocated before are not" in seen["notice"]
    assert "3.00 s" in seen["ticks"] and float(seen["chosen"].split(" s")[0]) >= 2.55


def test_page_at_a_time(traces, tmp_path):
    seen = page_of(traces, tmp_path, "--at", "1.55")
    assert seen["sum"].startswith("In use: 978 KiB.")
    assert seen["interval"].startswith("0 to 1.5")


def test_page_suspects_whom_the_table_suspects(traces, tmp_path):
    """The page marks the same growing sites as the table, with the same numbers."""
    told = json.loads(ask("report", "--show", "leaked", "--by", "stack", "--depth", "0", "-f", "json", traces / "cpp.alys"))
    ask("report", "--html", tmp_path / "p.html", traces / "cpp.alys")
    seen = drive(tmp_path, f"file://{tmp_path}/p.html", """
    await page.waitForFunction(() => document.documentElement.dataset.shown);
    await page.click("#tab-leaks");
    await page.waitForSelector("#table tbody tr");
    return page.$$eval("#table tbody tr", (rows) => rows.map((r) => Array.from(r.cells, (c) => c.innerText)));
    """)
    grew = [row for row in told["rows"] if row["growth"] > 0 and row["steady"] > 0]
    assert grew[0]["steady"] > 60 and len(grew) > 1

    def bytes_of(text):
        number, unit = re.fullmatch(r"\+([\d.]+) (B|KiB|MiB), \d+ %", text).groups()
        return float(number) * {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}[unit]

    assert len(seen) == len(grew)
    for ours, row in zip(seen, grew):
        assert ours[-1].split(" ← ")[0].split()[-1] in row["stack"][0] and ours[2] == str(row["count"])
        assert abs(bytes_of(ours[0]) - row["growth"]) < 0.01 * row["growth"] and ours[0].endswith(f", {round(row['steady'])} %")


def test_formats_of_an_interval(traces, tmp_path):
    """Every format accepts an interval; a pprof profile states the shortened duration."""
    ask("convert", "-f", "folded-stacks", "--value", "alloc_space", "--between", "2.55,2.65", traces / "cpp.alys", tmp_path / "f")
    assert [line.rsplit(" ", 1)[1] for line in (tmp_path / "f").read_text().splitlines()] == ["500"]
    said = alys("convert", "-f", "pprof", "--between", "50,60", traces / "cpp.alys", tmp_path / "p")
    assert said.returncode == 3 and "no event between 50 s and 60 s: the recording lasts 5.5 s" in said.stderr
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize("age, after, old, young", [("10%", 4.95, 45, 10), ("2.5s", 3.0, 23, 32), ("0.025m", 4.0, 35, 20), ("0.1", 5.4, 55, 0)])
def test_leaks_without_the_young_tail(traces, age, after, old, young):
    """Blocks of processes that run and that have exited; each format says what it leaves out."""
    told = {f: alys("report", "--show", "leaked", "--older-than", age, "-f", f, traces / "cpp.alys") for f in FORMATS}
    said = json.loads(told["json"].stdout)
    assert sum(row["count"] for row in said["rows"]) == old and said["left_out"]["count"] == young
    note = f"{young} block{'s' * (young != 1)} with {said['left_out']['bytes']:,} bytes allocated after {after:.3f} s are left out"
    for form, done in told.items():
        assert done.returncode == 0 and (done.stdout + done.stderr).count(note) == 1, form
        assert (note in done.stderr) == (form in ("tsv", "csv", "tally"))


def test_leaks_of_a_part_of_the_recording(traces):
    """The last tenth of 0.5 s to 2.5 s begins at 2.3 s."""
    told = json.loads(ask("report", "--show", "leaked", "--older-than", "10%", "--between", "0.5,2.5", "-f", "json", traces / "cpp.alys"))
    assert "after 2.300 s" in told["notes"][0] and told["left_out"]["count"] == 1


@pytest.mark.parametrize("status, words, said", [
    (2, ["--show", "leaked", "--older-than", "100%"], "wants an age"), (2, ["--show", "leaked", "--older-than", "5d"], "wants an age"),
    (2, ["--older-than", "5s"], "--older-than is for --show leaked"),
    (3, ["--show", "leaked", "--older-than", "1h"], "nothing older is live: 55 blocks with 5,301 bytes allocated after 0.000 s are left out"),
])
def test_ages_that_cannot_be(traces, status, words, said):
    assert said in refused(status, "report", *words, traces / "cpp.alys")


@pytest.mark.bpf
@pytest.mark.beside
def test_young_blocks_of_a_real_program(started, tmp_path):
    """What is left out and what is not make up what is live."""
    program = started.program("c_grow").wait_ready()
    tracer = started.tracer("-p", program.pid, "-o", tmp_path / "t.alys").recording()
    program.go()
    wait_until(lambda: (tmp_path / "t.alys").stat().st_size > 20000)
    tracer.stop()
    whole = json.loads(ask("report", "--show", "leaked", "-f", "json", tmp_path / "t.alys"))
    old = json.loads(ask("report", "--show", "leaked", "--older-than", "40%", "-f", "json", tmp_path / "t.alys"))
    for unit in ("count", "bytes"):
        assert sum(row[unit] for row in old["rows"]) + old["left_out"][unit] == sum(row[unit] for row in whole["rows"])
    assert old["rows"] and old["left_out"]["count"] > 0


# --- a process while it runs -----------------------------------------------------------------------

@pytest.fixture
def watching():
    """Starts `alys-bpf report -p` and returns once it is recording."""
    running = []

    def watch(*args):
        tracer = Tracer.__new__(Tracer)
        tracer.args, tracer.text = args, ""
        tracer.proc = subprocess.Popen([str(ALYS), "report", "-v", *map(str, args)], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        running.append(tracer)
        return tracer.recording()

    yield watch
    for tracer in running:
        tracer.kill()


@pytest.mark.bpf
@pytest.mark.beside
def test_live_process(started, watching):
    """The report at the end equals what the program prints about itself."""
    program = started.program("cpp_new").wait_ready()
    tracer = watching("-p", program.pid, "--show", "alloc", "--by", "function", "--inclusive", "-f", "json")
    program.go()
    truth, = program.truths()
    assert program.finish() == 0
    out, err = tracer.proc.communicate(timeout=60)
    assert tracer.proc.returncode == 0, err
    told = {r["function"].split("(")[0]: (r["count"], r["bytes"]) for r in json.loads(out)["rows"]}
    for site in ("site_new_array", "site_new_nothrow", "site_new_aligned", "site_vector"):
        assert told[site] == (truth["sites"][site]["allocs"], truth["sites"][site]["bytes"]), site


@pytest.mark.bpf
@pytest.mark.beside
def test_live_every(started, watching):
    """Reports at intervals (a busy machine may skip some) and once more at the end."""
    program = started.server()
    begun, told = time.monotonic(), b""
    tracer = watching("-p", program.pid, "--show", "alloc", "--by", "process", "-f", "tsv", "--every", "0.5s")
    while told.count(b"\n") < 2 * 3:
        subprocess.run(["curl", "-s", "-o", "/dev/null", program.url], check=True, timeout=60)
        if select.select([tracer.proc.stdout], [], [], 0.05)[0]:
            told += os.read(tracer.proc.stdout.fileno(), 65536)
        assert time.monotonic() - begun < 120, told
    tracer.proc.send_signal(signal.SIGINT)
    rest, err = tracer.proc.communicate(timeout=60)
    assert tracer.proc.returncode == 0, err
    lines = (told + rest).decode().split("\n")[:-1]
    assert lines[0::2] == ["1"] * (len(lines) // 2)
    counts = [int(line.split("\t")[0]) for line in lines[1::2]]
    assert 4 <= len(counts) <= (time.monotonic() - begun) / 0.5 + 1
    assert counts == sorted(counts) and counts[0] > 0


@pytest.mark.bpf
@pytest.mark.beside
def test_live_for_a_while(started):
    """-d ends by itself, and says so if there is nothing to report."""
    idle = started.program(shutil.which("sleep"), "1000")
    assert "no allocation" in refused(3, "report", "-p", idle.proc.pid, "-d", "0.5")


@pytest.mark.bpf
@pytest.mark.beside
def test_live_process_that_is_gone():
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert str(gone.pid) in refused(3, "report", "-p", gone.pid)


# --- valgrind --------------------------------------------------------------------------------------

SQL = ("create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c where x < 2000) "
       "insert into t select x, 'name' || x from c; select count(*) from t;")
STRICT = {
    "xz": ["/usr/bin/xz", "-1", "-T1", "-k", "-c", __file__],
    "sqlite3": ["/usr/bin/sqlite3", ":memory:", SQL],
    "perl": ["/usr/bin/perl", "-e", "my %h; $h{$_} = [$_] x 3 for 1..500; print scalar keys %h"],
    "cpp": [str(PROGS / "cpp_containers")],
}
FIXED = {"PATH": "/usr/bin:/bin", "PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0"}


def dhat(argv, out):
    """DHAT's program points, and the environment variables that valgrind added."""
    valgrind = ["valgrind", "--tool=dhat", "--run-libc-freeres=no", "--run-cxx-freeres=no", "--read-inline-info=yes",
                "--num-callers=30"]
    subprocess.run([*valgrind, f"--dhat-out-file={out}", *argv], env=FIXED, check=True, capture_output=True, timeout=120)
    seen = subprocess.run([*valgrind, "--dhat-out-file=/dev/null", "/usr/bin/env", "-0"], env=FIXED, check=True,
                          capture_output=True, timeout=120).stdout.decode()
    given = dict(v.split("=", 1) for v in seen.split("\0") if "=" in v)
    return json.loads(out.read_text()), {k: v for k, v in given.items() if k not in FIXED}


def recorded(argv, given, out):
    """
    Perl copies its environment, so what valgrind adds to it (LD_PRELOAD and the like) is added here as well,
    under names of the same length that mean nothing.
    """
    env = {**FIXED, **{k if k == "PWD" else "X" + k[1:]: v for k, v in given.items()}}
    subprocess.run([str(BUILD / "alys-bpf"), "-o", str(out), "--", *argv], env=env, check=True, capture_output=True,
                   timeout=120)


def totals(trace, show):
    told = json.loads(ask("report", "--by", "process", "--show", show, "-f", "json", trace))
    return told["total"]["count"], told["total"]["bytes"]


@pytest.mark.bpf
@pytest.mark.skipif(not shutil.which("valgrind"), reason="no valgrind")
@pytest.mark.parametrize("name", STRICT)
def test_like_dhat(name, tmp_path):
    """
    Blocks and bytes in all, at the peak and at the end, as valgrind's DHAT counts them: a reallocation is one more
    block of its new size for both. freeres is off, for without valgrind nobody calls it.
    """
    if not os.path.exists(STRICT[name][0]):
        pytest.skip(f"no {STRICT[name][0]}")
    theirs, given = dhat(STRICT[name], tmp_path / "dhat.out")
    recorded(STRICT[name], given, tmp_path / "t.alys")
    points = theirs["pps"]
    want = {show: (sum(p[blocks] for p in points), sum(p[size] for p in points))
            for show, blocks, size in (("alloc", "tbk", "tb"), ("peak", "gbk", "gb"), ("live", "ebk", "eb"))}
    told = {show: totals(tmp_path / "t.alys", show) for show in want}
    if name == "perl":
        # Perl asks malloc_usable_size() and puts to use what malloc rounded up, by which its arrays are extended
        # later; valgrind's malloc rounds nothing up. As many blocks, and the same at the end, but other sizes between.
        assert [told[s][0] for s in told] == [want[s][0] for s in want]
        assert told["live"] == want["live"]
    else:
        assert told == want


def sites_of_dhat(data):
    """address: [blocks, bytes, live blocks, live bytes] of the innermost frame outside of allocator and valgrind."""
    sites = collections.defaultdict(lambda: [0] * 4)
    for point in data["pps"]:
        frames = [data["ftbl"][f] for f in point["fs"]]
        site = next(f for f in frames if not re.search("vgpreload|vg_replace", f))
        for i, key in enumerate(("tbk", "tb", "ebk", "eb")):
            sites[site.split(":")[0]][i] += point[key]
    return sites


def sites_of_events(events):
    """The same from events; as in DHAT, a reallocated block stays with the site that allocated it."""
    sites = collections.defaultdict(lambda: [0] * 4)
    made, live = {}, {}
    for e in events:
        if e["kind"] == "free":
            live.pop(e["id"], None)
            continue
        site = made.setdefault(e["id"], e["stack"][0]["ip"])
        sites[site][0] += 1
        sites[site][1] += e["size"]
        live[e["id"]] = e["size"]
    for block, size in live.items():
        sites[made[block]][2] += 1
        sites[made[block]][3] += size
    return sites


@pytest.mark.bpf
@pytest.mark.skipif(not shutil.which("valgrind"), reason="no valgrind")
@pytest.mark.parametrize("name", STRICT)
def test_like_dhat_site_by_site(name, tmp_path):
    """
    Under valgrind addresses differ, so sites are matched by their numbers. Perl's sizes differ for the reason given
    above, its blocks do not.
    """
    if not os.path.exists(STRICT[name][0]):
        pytest.skip(f"no {STRICT[name][0]}")
    theirs, given = dhat(STRICT[name], tmp_path / "dhat.out")
    recorded(STRICT[name], given, tmp_path / "t.alys")
    ask("convert", "-f", "json", "--no-skip", tmp_path / "t.alys", tmp_path / "t.json")
    want, told = sites_of_dhat(theirs), sites_of_events(json.loads((tmp_path / "t.json").read_text()))
    assert len(want) >= 9
    keep = (0, 2) if name == "perl" else range(4)
    assert sorted([s[i] for i in keep] for s in told.values()) == sorted([s[i] for i in keep] for s in want.values())


@pytest.mark.bpf
@pytest.mark.skipif(not shutil.which("valgrind"), reason="no valgrind")
def test_like_dhat_line_by_line(tmp_path):
    """Every line of a C++ program that leads to an allocation: blocks and bytes in all, and at the end."""
    theirs, given = dhat(STRICT["cpp"], tmp_path / "dhat.out")
    recorded(STRICT["cpp"], given, tmp_path / "t.alys")
    want, got = collections.Counter(), collections.Counter()
    place = re.compile(r"cpp_containers\.cc:(\d+)")
    for point in theirs["pps"]:
        lines = [m.group(1) for m in (place.search(theirs["ftbl"][f]) for f in point["fs"]) if m]
        if lines:
            want[lines[0], "count"] += point["tbk"]
            want[lines[0], "bytes"] += point["tb"]
            want[lines[0], "live"] += point["eb"]
    for show in ("alloc", "live"):
        told = json.loads(ask("report", "--by", "stack", "--depth", "0", "--show", show, "-f", "json",
                              tmp_path / "t.alys"))
        for row in told["rows"]:
            lines = [m.group(1) for m in map(place.search, row["stack"]) if m]
            for key in ("count", "bytes") if lines and show == "alloc" else ():
                got[lines[0], key] += row[key]
            if lines and show == "live":
                got[lines[0], "live"] += row["bytes"]
    assert len({line for line, _ in want}) >= 5
    assert +got == +want
