# SPDX-License-Identifier: Apache-2.0
"""
Collected heaps read from outside, without probes, compared with what the collector itself reports of each object: in C
and in Crystal, while the program is idle and while it collects all the time. Other programs are refused with a reason.
"""
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from conftest import ALYS, BUILD, PROGS, TIMEOUT, alys, make
from lying_collector import lying_collector
from web_driver import wait_for

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="not root: may not read other processes")

HEAPREAD = BUILD / "tests" / "heapread"
NOTHING = 3
# Dropped objects whose address still lies on a stack: a conservative collector keeps them.
A_FEW = 8


@pytest.fixture(scope="module", autouse=True)
def heapread():
    make(HEAPREAD)


@pytest.fixture(scope="module")
def stripped(tmp_path_factory):
    path = tmp_path_factory.mktemp("stripped") / "c_heap"
    subprocess.run(["strip", "-o", path, PROGS / "c_heap_static"], check=True)
    return path


def told(program):
    """What tests/prog/c_heap.c prints up to "end": numbers about the heap, and the remaining lines as text."""
    lines = []
    while not lines or lines[-1] != "end":
        lines.append(program.line())
    numbers = {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", lines[0])}
    return numbers, "\n".join(lines[:-1]) + "\n"


def read(program, truth, *args):
    done = subprocess.run([HEAPREAD, str(program.pid), *args], input=truth, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    found = {k: int(v) for k, v in re.findall(r"(\w+) (\d+)\b", done.stdout)}
    return found, done.stdout


def census(program, *args, status=0):
    done = alys("census", "-p", program.pid, *args)
    assert done.returncode == status, (done.stdout, done.stderr)
    return done


def by_type(program, *args):
    answer = json.loads(census(program, "-f", "json", *args).stdout)
    return {row["type"]: row for row in answer["rows"]}, answer


# --- every object, as the collector answers --------------------------------------------------------

@pytest.mark.parametrize("name", ["c_heap", "c_heap_static", "stripped"])
def test_every_object_as_the_collector_says(started, stripped, name):
    program = started.program(str(stripped) if name == "stripped" else name)
    marked = []
    for _ in range(2):
        numbers, truth = told(program)
        found, text = read(program, truth)
        assert found["objects"] == 20000 and found["wrong"] == 0, text
        assert found["found"] > 10000 and found["torn"] == 0 and found["bad"] == 0, text
        # Without a name for the counter, the latest collection that swept a block is known.
        assert found.pop("gc_no") == numbers.pop("gc_no") or (name == "stripped" and "by its shape" in text), text
        assert {k: found[k] for k in ("bytes", "unmapped", "free")} == {k: numbers[k] for k in (
            "bytes", "unmapped", "free")}, text
        marked.append(found["marked"])
        program.proc.stdin.write(b"drop\n")
        program.proc.stdin.flush()
    assert marked[1] < marked[0] * 0.7, marked


def test_layout_is_found_by_symbol_and_by_its_shape(started, stripped):
    for name, how, proof in (("c_heap", "found by symbol", "proven: 6660 objects"),
                             ("c_heap_static", "found by symbol", "an executable cannot be loaded alone"),
                             (str(stripped), "found by its shape", "an executable cannot be loaded alone")):
        program = started.program(name)
        _, truth = told(program)
        _, text = read(program, truth)
        assert how in text and proof in text and "mark stack found, state found" in text, text


def test_what_lives_is_never_read_as_dead(started):
    program = started.program("c_churn")
    lines = []
    while not lines or lines[-1] != "end":
        lines.append(program.line())
    found, text = read(program, "\n".join(lines[:-1]) + "\n", "again", "200")
    assert found["wrong"] == 0 and found["readings"] == 200, text
    # How many readings fall within one cycle depends on the scheduler: a tenth at least, even on a busy machine.
    assert found["objects"] == 3000 * (200 - found["torn"]) >= 3000 * 20, text
    assert found["cycles"] > 5, text


def test_threads_and_finalizers_all_the_time(started):
    """Collections run nearly all the time: a reading is right, or says that it spans two collections."""
    program = started.program("c_churn", "2")
    lines = []
    while not lines or lines[-1] != "end":
        lines.append(program.line())
    seen = 0
    for _ in range(8):
        found, text = read(program, "\n".join(lines[:-1]) + "\n", "again", "25")
        assert found["wrong"] == 0 and found["objects"] == 3000 * (25 - found["torn"]), text
        seen += found["objects"]
        if seen:
            break
    assert seen, text


# --- types -----------------------------------------------------------------------------------------

@pytest.mark.parametrize("variant", ["debug", "release", "staticgc", "mt"])
def test_census_by_type_is_what_the_program_counts(started, variant):
    program = started.program(f"census.{variant}")
    for i in range(2):
        truth = json.loads(program.line())
        rows, answer = by_type(program, "--type-ids", PROGS / f"census.{variant}.types")
        assert {k: rows[k]["count"] for k in ("Foo", "A", "B", "C", "Leaf")} == {
            k: truth[k] for k in ("Foo", "A", "B", "C", "Leaf")}
        assert rows["Array(B)"]["count"] == truth["A"]
        assert rows["String"]["count"] >= truth["Leaf"] and rows["String"]["known"] == "always"
        assert rows["Foo"]["known"] == "compiler"
        assert answer["collection"] == truth["collection"] and not answer["upper_bound"]
        assert sum(row["bytes"] for row in rows.values()) == answer["total"]["bytes"]
        assert 3000 // (i + 1) <= truth["Foo"] <= 3000 + A_FEW
        if i == 0:
            program.go()


@pytest.mark.parametrize("variant", ["debug", "release"])
@pytest.mark.parametrize("verb", ["census", "graph"])
def test_closures_and_tuples_are_no_objects(started, verb, variant):
    """They begin with a loop index, which equals some class' number. No class is invented from it, and none is lost."""
    found = []
    for many in (0, 300):
        program = started.program(f"closures.{variant}", str(many)).wait_ready()
        show = ("--counts",) if verb == "census" else ("--show", "counts")
        done = alys(verb, "-p", program.pid, "--type-ids", PROGS / f"closures.{variant}.types", *show)
        assert done.returncode == 0, done.stderr
        found.append({name: int(n) for n, name in (line.split("\t") for line in done.stdout.splitlines()[1:])})
    without, counted = found
    assert set(counted) == set(without) and {"One", "Many", "Fiber", "Array(Many)"} <= set(without)
    # A class of the same shape may have gained what its number stands in front of: one closure, two tuples.
    assert all(without[name] <= counted[name] <= without[name] + 4 for name in without if name != "String")
    assert without["Many"] == 300 and counted["String"] >= 300


@pytest.mark.parametrize("variant", ["debug", "release"])
def test_closures_are_doubtful_without_the_list(started, variant):
    """Without the list, only their numbers tell them from classes, so they are reported as doubtful in text and JSON. With it none is."""
    told = []
    for many in (0, 300):
        program = started.program(f"closures.{variant}", str(many)).wait_ready()
        answer = by_type(program)[1]
        said = re.search(r"^(\d+) objects, .* are doubtful", "\n".join(answer["notes"]), re.M)
        assert int(said[1] if said else 0) == answer["doubtful"]
        told.append(answer["doubtful"])
        listed = by_type(program, "--type-ids", PROGS / f"closures.{variant}.types")[1]
        assert (listed["doubtful"], listed["doubtful_bytes"]) == (0, 0)
    assert told[1] - told[0] > 300, told


def test_names_are_unknown_without_the_list(started):
    program = started.program("census.debug")
    truth = json.loads(program.line())
    ids = re.findall(r"\{\d+ - (\d+)\}: (\S+)$", Path(PROGS / "census.debug.types").read_text(), re.M)
    foo = next(n for n, name in ids if name == "Foo")
    rows, answer = by_type(program)
    assert rows[f"(class {foo})"]["count"] == truth["Foo"] and rows[f"(class {foo})"]["known"] == "unknown"
    assert any("--type-ids FILE" in line for line in answer["notes"])


def test_names_from_constants_of_newer_compilers(started):
    program = started.program("c_types").wait_ready()
    rows, answer = by_type(program)
    assert {name: (row["count"], row["known"]) for name, row in rows.items()} == {
        "Foo": (40, "symbols"), "Shop::Bar(Int32)": (40, "symbols")}
    done = alys("graph", "-q", "-p", program.pid, "--type", "Bar(Int32)", "--limit", "1", "-f", "json")
    assert [(e["holder"], e["offset"]) for e in json.loads(done.stdout)["edges"]] == [("Foo", 16)], done


@pytest.mark.bpf
@pytest.mark.beside
def test_names_are_learned_from_a_recording(started, tmp_path):
    program = started.program("graph.debug", env={"FOOS": "2000"})
    while program.line() != "ready":
        pass
    tracer = started.tracer("-p", program.pid, "-o", tmp_path / "t.alys").recording()
    program.proc.stdin.write(b"late\ntruncate\n")
    program.proc.stdin.flush()
    assert [program.line(), program.line()] == ["done", "done"]
    tracer.stop()
    rows, answer = by_type(program, "--learn", tmp_path / "t.alys")
    unlearned, _ = by_type(program)
    assert rows["Late"]["known"] == "learned" and rows["Late"]["count"] == 100 and "Late" not in unlearned
    done = alys("census", "-p", program.pid, "--learn", tmp_path / "none.alys")
    assert done.returncode == NOTHING and "none.alys" in done.stderr


def test_lines_as_memprof_writes_them(started):
    program = started.program("census.debug")
    truth = json.loads(program.line())
    lines = census(program, "--counts", "--type-ids", PROGS / "census.debug.types").stdout.split("\n")
    assert int(lines[0]) == len(lines) - 2 and lines[-1] == ""
    counts = {name: int(n) for n, name in (line.split("\t") for line in lines[1:-1])}
    assert counts["Foo"] == truth["Foo"] and not any("buffer" in name for name in counts)


def test_text_says_of_which_collection_it_is(started):
    program = started.program("census.debug")
    truth = json.loads(program.line())
    text = census(program, "--type-ids", PROGS / "census.debug.types").stdout
    assert f"objects that collection {truth['collection']} reached; younger ones are not marked" in text
    assert "without stopping it" in text and re.search(r"^ +3,000 +48,000 .* compiler +Foo$", text, re.M), text
    markdown = census(program, "-f", "markdown", "--top", "2", "--sort", "count").stdout
    assert markdown.startswith("| Objects | Bytes |")


def test_waits_for_the_next_collection(started):
    program = started.program("c_churn")
    while program.line() != "end":
        pass
    first = json.loads(census(program, "-f", "json", "--gc-wait", "10").stdout)
    assert not any("no collection within" in line for line in first["notes"])
    still = started.program("c_heap")
    told(still)
    answer = json.loads(census(still, "-f", "json", "--gc-wait", "0.2").stdout)
    assert any("no collection within 0.2 s" in line for line in answer["notes"])


def test_a_c_program_has_no_types(started):
    program = started.program("c_heap")
    told(program)
    rows, answer = by_type(program)
    assert set(rows) == {"(buffer)", "(buffer without pointers)"}
    assert any("no program of Crystal's" in line for line in answer["notes"])


def test_steps_of_an_incremental_collector_are_said(started):
    program = started.program("c_heap", env={"GC_ENABLE_INCREMENTAL": "1"})
    told(program)
    for args in ((), ("--heap",)):
        answer = json.loads(census(program, *args, "-f", "json").stdout)
        assert answer["upper_bound"] and any("it collects in steps" in line for line in answer["notes"]), answer["notes"]


def test_first_thread_has_exited(started):
    program = started.program("c_leader")
    assert program.line() == "ready"
    wait_for(lambda: ") Z " in Path(f"/proc/{program.pid}/stat").read_text())
    assert by_type(program)[0]["(buffer)"]["count"] == 300
    accounts = json.loads(census(program, "--heap", "-f", "json").stdout)
    assert accounts["live_bytes"] >= 300 * 200
    for args in ([], ["--freeze"]):
        done = alys("graph", "-p", program.pid, "--show", "counts", *args)
        assert done.returncode == 0 and int(re.search(r"(\d+) live objects", done.stderr).group(1)) >= 300, done
        assert "ran just then" not in done.stderr


def test_zombie():
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    refused(alys("census", "-p", child.pid), f"process {child.pid} (true) has ended")
    child.wait()


# --- accounts --------------------------------------------------------------------------------------

def resident(program):
    return int(Path(f"/proc/{program.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


@pytest.mark.parametrize("command", [["census", "--heap"], ["report", "--heap"]])
def test_accounts_add_up(started, command):
    program = started.program("c_heap")
    numbers, _ = told(program)
    before = resident(program)
    done = alys(*command, "-p", program.pid, "-f", "json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["heap_bytes"] == numbers["bytes"] and answer["unmapped_bytes"] == numbers["unmapped"]
    assert answer["free_bytes"] == numbers["free"]
    assert answer["live_bytes"] + answer["slack_bytes"] + answer["free_bytes"] + answer["unmapped_bytes"] == answer["heap_bytes"]
    assert sum(r["live_bytes"] for r in answer["rows"]) == answer["live_bytes"] == answer["total"]["live_bytes"]
    # It is stopped, but the kernel may reclaim pages that it does not use.
    assert resident(program) / 2 <= answer["rss_bytes"] <= before * 2
    text = alys(*command, "-p", program.pid).stdout
    assert "resident memory of the process" in text and "Under 1/4 live" in text


@pytest.mark.parametrize("program", ["census.debug", "census.mt"])
def test_accounts_and_census_count_the_same(started, program):
    """Free slots in a thread's lists are marked, but must count as free in both."""
    process = started.program(program)
    process.line()
    accounts, types = (json.loads(alys(*verb, "-p", process.pid, "-f", "json").stdout) for verb in (["report", "--heap"], ["census"]))
    assert accounts["collection"] == types["collection"]
    assert all(any("look like free ones that threads keep" in line for line in answer["notes"]) for answer in (accounts, types))
    assert accounts["live_bytes"] == types["total"]["bytes"]
    assert accounts["total"]["live"] == types["total"]["count"]


@pytest.mark.bpf
@pytest.mark.beside
def test_whose_survivors_pin_blocks(started):
    program = started.program("c_pins").wait_ready()
    running = subprocess.Popen([ALYS, "report", "--heap", "-v", "-p", str(program.pid), "-d", "1000", "-f", "json"], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for line in running.stderr:
        if "recording" in line:
            break
    program.go()
    assert program.line() == "kept 200"
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=TIMEOUT)
    assert running.returncode == 0, err
    accounts, end = json.JSONDecoder().raw_decode(out)
    sites = json.loads(out[end:])
    assert accounts["pinned_blocks"] > 5
    assert sum(row["count"] for row in sites["rows"] if "site_pin" in row["site"]) > 20
    assert not any("site_garbage" in row["site"] and row["count"] > 3 for row in sites["rows"]), sites["rows"]


@pytest.mark.bpf
@pytest.mark.beside
@pytest.mark.parametrize("form", ["text", "json"])
def test_nothing_recorded_is_no_failure(started, form):
    program = started.program("c_heap")
    told(program)
    done = alys("report", "--heap", "-p", program.pid, "-d", "0.3", "-f", form)
    assert done.returncode == 0 and "no allocation" not in done.stderr, done.stderr
    assert done.stdout.endswith("none that was recorded\n") if form == "text" else json.loads(done.stdout)


def test_heap_is_of_a_running_process():
    for args in (["some.alys"], ["-p", "1", "--every", "1"]):
        done = alys("report", "--heap", *args)
        assert done.returncode == 2 and "--heap is for a running process" in done.stderr, done.stderr


# --- what else there is ----------------------------------------------------------------------------

def refused(done, *words):
    assert done.returncode == NOTHING and done.stdout == "", done
    assert re.fullmatch(r"alys-bpf: .+\n", done.stderr), done.stderr
    for word in words:
        assert word in done.stderr, done.stderr


def test_not_a_collected_program(started):
    program = started.program("c_libc").wait_ready()
    refused(alys("census", "-p", program.pid), f"process {program.pid} (c_libc)", "no collector of Boehm's")


def test_no_such_process():
    refused(alys("census", "-p", 4194304 - 1), "no process")


def test_nobody_may_not_look(started, public):
    program = started.program("c_heap")
    told(program)
    done = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", public(ALYS), "census", "-p",
                           str(program.pid)], capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 1 and re.fullmatch(r"alys-bpf: not allowed to .*run as root.*\n", done.stderr), done


def test_whose_heap():
    done = alys("census")
    assert done.returncode == 2 and "use -p PID" in done.stderr


def test_garbage_as_list_of_types(started, tmp_path):
    program = started.program("census.debug")
    program.line()
    for content in (b"", b"\0" * 5000, os.urandom(100000), b"{1 - }: Foo\n{- 3}: Foo\n{5 - 4}: Foo\n{99999999999 - 99999999999}: F\n"):
        (tmp_path / "ids").write_bytes(content)
        done = alys("census", "-p", program.pid, "--type-ids", tmp_path / "ids")
        assert done.returncode == 1 and "CRYSTAL_DUMP_TYPE_ID=1 crystal build" in done.stderr, done.stderr
    done = alys("census", "-p", program.pid, "--type-ids", tmp_path / "none")
    assert done.returncode == 1 and "cannot read" in done.stderr


def test_hostile_names_of_types(started, tmp_path):
    program = started.program("census.debug")
    program.line()
    lines = [f"{{{i} - {i}}}: \033[31mX\x07|`{i}<b>\n" for i in range(1, 400)]
    (tmp_path / "ids").write_text("".join(lines))
    for form in ("text", "markdown", "tsv", "json", "csv"):
        out = census(program, "--type-ids", tmp_path / "ids", "-f", form).stdout
        assert "\033" not in out and "\x07" not in out and "\\x1b" in out.replace("\\\\", "\\")


@pytest.mark.parametrize("after", [0.0, 0.003, 0.01, 0.03])
def test_process_dies_midway(started, after):
    program = started.program("c_churn")
    while program.line() != "end":
        pass
    running = subprocess.Popen([ALYS, "census", "-p", str(program.pid), "--gc-wait", "5"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    time.sleep(after)
    program.proc.send_signal(signal.SIGKILL)
    program.proc.wait()
    out, err = running.communicate(timeout=TIMEOUT)
    # Either it was finished before, or it says what happened.
    assert running.returncode == 0 or (running.returncode == NOTHING and re.fullmatch(r"alys-bpf: .+\n", err)), (out, err)


def test_another_layout_is_not_believed(started, tmp_path):
    program = started.program("c_churn", env=lying_collector(tmp_path))
    while program.line() != "end":
        pass
    refused(alys("census", "-p", program.pid), "is rejected, proven wrong: the size of an object")
