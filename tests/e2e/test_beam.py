# SPDX-License-Identifier: Apache-2.0
"""Heaps of Erlang processes: totals equal what the VM counts itself, functions by their names, and the VM is never harmed."""

import json
import re
import shutil
import signal
import subprocess

import pytest

from conftest import ALYS, ROOT, TIMEOUT, alys, assert_law, assert_same, events_of, has_events, tally, wait_until
from erlang import ERL, WORD, WORDS, by_process, by_type, compiled, table, vm  # noqa: F401 (fixtures)

pytestmark = [pytest.mark.bpf, pytest.mark.beside]


def record(started, trace, program, *args):
    """Gives what the program says of itself."""
    tracer = started.tracer("-p", program.pid, "--allocator", "beam", "-o", trace, *args).recording()
    truth = program.go().truths()[0]
    tracer.stop()
    return truth


def words_in(trace):
    return sum(row["words"] for row in table(trace))


def text(trace, *args):
    return alys("report", "--by", "function", *args, trace).stdout


def assert_total(trace, truth):
    """Words reclaimed, and what was left when processes ended: of those of the program these are few."""
    assert truth["reclaimed"] * 0.95 < words_in(trace) < truth["reclaimed"] * 1.05
    assert_law(trace)


def test_functions(started, vm, tmp_path):
    """Calls by chance: the total is the VM's own, the functions' shares are right within their error, as is their order."""
    trace = tmp_path / "t.alys"
    truth = record(started, trace, vm("chance", 2000000, "+JPperf", "true"))
    assert_total(trace, truth)
    rows = {row["function"]: row for row in table(trace)}
    for name, words in WORDS.items():
        share = 100 * words / sum(WORDS.values())
        assert abs(rows[name]["percent"] - share) < 4 * rows[name]["percent_error"], rows
        assert rows[name]["percent_error"] < 5
    assert list(WORDS) == [row["function"] for row in table(trace)][:3]
    callers = {row["function"]: row["percent"] for row in table(trace, "--callers", "words:big/1")}
    assert callers["words:by_chance/2"] > 99
    assert "in step" not in text(trace)


@pytest.mark.parametrize("sample", [(), ("--sample", "bytes:4k")])
def test_in_step(started, vm, tmp_path, sample):
    """Calls in turn: which function fills the heap is no chance, and the report says so; the total is right all the same."""
    trace = tmp_path / "t.alys"
    truth = record(started, trace, vm("turns", 300000, "+JPperf", "true"), *sample)
    assert_total(trace, truth)
    assert "processes are in step with their heaps" in text(trace)
    rows = {row["function"]: row for row in table(trace)}
    for name, words in WORDS.items():
        share = 100 * words / sum(WORDS.values())
        found = rows.get(name, {"percent": 0, "percent_error": 100})
        assert abs(found["percent"] - share) < 2 * max(found["percent_error"], 20), rows
    inclusive = {row["function"]: row["percent"] for row in table(trace, "--inclusive")}
    assert inclusive["words:in_turn/1"] > 99


def test_by_erlang_process(started, vm, tmp_path):
    """Processes by their pids, as pid_to_list has them, also those with a serial: the words of each are those that it allocated."""
    trace, times = tmp_path / "t.alys", 100000
    truth = record(started, trace, vm("workers", times, "+JPperf", "true"))
    rows, pids = by_process(trace), truth["answer"]
    for size, words in ("big", 20), ("middle", 6), ("small", 2):
        row = rows[pids[size]]
        assert words * times <= row["words"] < words * times + 100, (pids, row)
        assert row["percent_error"] == 0
    assert len(rows) > 50000 and all(re.fullmatch(r"<0\.\d+\.\d+>", name) for name in rows)
    assert sum(row["words"] for row in rows.values()) == words_in(trace)
    # The functions of one process only: nothing else is in its stacks.
    only = by_process(trace, "--focus", "words:big/1")
    assert max(only, key=lambda name: only[name]["words"]) == pids["big"]
    lines = alys("report", "--by", "erlang-process", "--top", "2", trace).stdout.splitlines()
    assert lines[0].split("  ")[0] == "ERLANG PROCESS" and lines[1].split()[2] == pids["big"]


def test_names_of_erlang_processes(started, vm, tmp_path):
    """The registered name, also one that a process gets later, or else the function with which it began, as Erlang or Elixir write it."""
    trace = tmp_path / "t.alys"
    pids = record(started, trace, vm("named", 20000, "+JPperf", "true"))["answer"]
    rows = by_process(trace)
    assert rows[pids["registered"]]["called"] == "words_café"
    assert rows[pids["late"]]["called"] == "late_one"
    assert rows[pids["spawned"]]["called"] == "words:calls/2"
    assert rows[pids["fun"]]["called"] == "erlang:apply/2"
    lines = alys("report", "--by", "erlang-process", "--top", "0", trace).stdout
    assert f"{pids['registered']} words_café " in lines


def test_erlang_processes_sampled(started, vm, tmp_path):
    trace, times = tmp_path / "t.alys", 200000
    truth = record(started, trace, vm("workers", times, "+JPperf", "true"), "--sample", "bytes:16k", "--max-overhead", "0")
    rows = by_process(trace)
    for size, words in ("big", 20), ("middle", 6), ("small", 2):
        row = rows[truth["answer"][size]]
        error = row["percent_error"] * row["words"] / row["percent"]
        assert 0 < error and abs(row["words"] - words * times) < 5 * error, (size, row)


@pytest.mark.parametrize("what,times", [("deep", 300000), ("large", 2000000), ("asleep", 300), ("httpd", 100), ("binaries", 10000),
                                        ("upgrade", 100000)])
def test_totals(started, vm, tmp_path, what, times):
    """
    A heap that grows by much, a deep stack, processes that hibernate, a server, binaries that are collected with the heap, code that is
    replaced: at least what the VM reclaimed was recorded.
    """
    trace = tmp_path / "t.alys"
    truth = record(started, trace, vm(what, times, "+JPperf", "true"))
    assert words_in(trace) >= truth["reclaimed"] * 0.95
    assert truth["answer"] == times
    assert_law(trace)


def test_functions_in_c(started, vm, tmp_path):
    """What they get from malloc counts by their own stacks, and the terms that they build as words of their callers."""
    trace, times = tmp_path / "t.alys", 100000
    program = vm("nif", times, "+JPperf", "true")
    tracer = started.tracer("-p", program.pid, "-o", trace, "--allocator", "libc,beam,erts").recording()
    truth = program.go().truths()[0]
    tracer.stop()
    assert truth["answer"] == times
    rows = {row["function"]: row for row in table(trace, "--show", "alloc")}
    assert (rows["keep_one"]["count"], rows["keep_one"]["bytes"]) == (times, times * 48)
    words = sum(rows[name]["bytes"] for name in ("tally:run/1", "erlang:garbage_collect/0"))
    assert times * 20 * WORD <= words < times * 20 * WORD * 1.01
    # The library is loaded by the first call, and its unwind rows are known soon after.
    callers = {row["function"]: row["count"] for row in table(trace, "--show", "alloc", "--callers", "keep_one")}
    assert callers["make"] > 0.5 * times and set(callers) <= {"make", "[unknown]"}
    assert by_type(trace, "alloc")["nif_internal"]["bytes"] >= 100 * times
    assert_law(trace)


def test_small_binaries_of_functions_in_c(started, vm, tmp_path):
    """enif_make_new_binary up to 64 bytes: words on the heap, a header of two and eight of data."""
    trace, times = tmp_path / "t.alys", 200000
    record(started, trace, vm("nif_new_small", times, "+JPperf", "true"))
    words = {row["function"]: row["words"] for row in table(trace)}["tally:binaries/3"]
    assert abs(words - 10 * times) < 0.01 * 10 * times


# Of what the VM does beside the program.
FEW = 20


@pytest.mark.parametrize("what,name", [("nif_new_large", "binary"), ("nif_alloc", "drv_binary")])
def test_large_binaries_of_functions_in_c(started, vm, tmp_path, what, name):
    """enif_make_new_binary and enif_alloc_binary of more: a block of the VM's own each, which the collection of the heap frees."""
    trace, times = tmp_path / "t.alys", 10000
    program = vm(what, times, "+JPperf", "true")
    tracer = started.tracer("-p", program.pid, "--allocator", "beam,erts", "-o", trace).recording()
    assert program.go().truths()[0]["answer"] == times
    tracer.stop()
    came, stays = by_type(trace, "alloc")[name], by_type(trace, "live").get(name, {"count": 0})
    assert times <= came["count"] <= times + FEW
    assert 1000 * times <= came["bytes"] <= 1100 * times
    assert stays["count"] <= FEW
    assert_law(trace)


HEAP_TYPES = {"heap", "old_heap", "heap_frag", "message"}
# Bytes of a row in a table of the type set: {I, I, I} and what is before it.
ROW = 64


def assert_blocks(trace, rows):
    """Rows of tables and binaries that words:blocks(N) makes, and what stays of them."""
    came, stays = by_type(trace, "alloc"), by_type(trace, "live")
    assert 2 * rows <= came["db_term"]["count"] <= 2 * rows + FEW
    assert rows <= stays["db_term"]["count"] <= rows + FEW
    big, size = rows // 100, 100000
    for found in came, stays:
        assert rows * ROW <= found["db_term"]["bytes"] < (2 * rows + FEW) * ROW + FEW * 100
        assert big <= found["binary"]["count"] and big * size <= found["binary"]["bytes"] < (big + FEW) * size
    return came


@pytest.mark.parametrize("families", ["erts", "erts,libc", "beam,erts,libc"])
def test_blocks_of_the_vm(started, vm, tmp_path, families):
    """Binaries and ETS by the VM's own types, to the block; of heaps either the blocks or the words."""
    trace, rows = tmp_path / "t.alys", 10000
    program = vm("blocks", rows, "+JPperf", "true")
    tracer = started.tracer("-p", program.pid, "-o", trace, "--allocator", families).recording()
    assert program.go().truths()[0]["answer"] == rows
    tracer.stop()
    came = assert_blocks(trace, rows)
    law = assert_law(trace).rows
    words = "beam" in families
    assert not (words and HEAP_TYPES & set(came))
    assert ("heap" in came) != words and (law.get("unsampled", 0) > 0) == words
    # What these lie in, carriers of the VM, is in no row: they are larger than all that it gets from malloc for itself.
    assert came.get("[no type]", {"bytes": 0})["bytes"] < 5000000


@pytest.mark.parametrize("cheap", [(), ("--return-probes",)])
def test_blocks_by_number(started, tmp_path, cheap):
    """Tables of types that do not fit each other: numbers. Each block counts once, though all are malloc's."""
    trace = tmp_path / "t.alys"
    program = started.program("c_erts_odd").wait_ready()
    tracer = started.tracer("-p", program.pid, "-o", trace, "--allocator", "libc,erts", *cheap).recording()
    truth = program.go().truths()[0]
    tracer.stop()
    assert_same(truth["sites"], tally(events_of(trace, tmp_path))[program.pid])
    came, stays = by_type(trace, "alloc"), by_type(trace, "live")
    assert {name: row["count"] for name, row in came.items()} == {"type 25031": 10, "type 27434": 2}
    assert {name: row["bytes"] for name, row in stays.items()} == {"type 25031": 600, "type 27434": 5000}
    assert_law(trace)


def test_blocks_sampled(started, vm, tmp_path):
    trace, rows = tmp_path / "t.alys", 30000
    program = vm("blocks", rows, "+JPperf", "true")
    tracer = started.tracer("-p", program.pid, "-o", trace, "--allocator", "erts", "--sample", "bytes:4k", "--max-overhead", "0").recording()
    assert program.go().truths()[0]["answer"] == rows
    tracer.stop()
    came, stays = by_type(trace, "alloc")["db_term"], by_type(trace, "live")["db_term"]
    for found, want in (came, 2 * rows), (stays, rows):
        assert 0 < found["error"] and abs(found["bytes"] - want * ROW) < 5 * found["error"] + FEW * ROW, (found, want)
    assert_law(trace)


def test_survivors(started, vm, tmp_path):
    """A list of 100,000 cells lives through 20 collections more than another one."""
    notes = []
    for times in (10, 30):
        trace = tmp_path / f"{times}.alys"
        record(started, trace, vm("kept", times, "+JPperf", "true"))
        notes.append(assert_law(trace).rows)
        assert "gave their process a larger one" in text(trace)
        assert notes[-1]["heap-grown"] > 1
    # The VM itself may collect once more or less.
    assert 18 <= notes[1]["heap-collections"] - notes[0]["heap-collections"] <= 22
    kept = notes[1]["heap-survivors"] - notes[0]["heap-survivors"]
    assert abs(kept - 20 * 100000 * 2 * WORD) < 0.1 * kept


def test_generations(started, vm, tmp_path):
    """Minor and major collections are told apart: what 200 rounds of three and one have more than 100."""
    rows = []
    for times in (100, 200):
        trace = tmp_path / f"{times}.alys"
        truth = record(started, trace, vm("generations", times, "+JPperf", "true"))
        assert truth["answer"] == times
        rows.append(assert_law(trace).rows)
        assert rows[-1]["heap-minor"] + rows[-1]["heap-major"] == rows[-1]["heap-collections"]
        assert "of these collections" in text(trace)
    # The VM itself may collect once more or less.
    assert abs(rows[1]["heap-minor"] - rows[0]["heap-minor"] - 300) <= 4
    assert abs(rows[1]["heap-major"] - rows[0]["heap-major"] - 100) <= 4


def test_times(started, vm, tmp_path):
    """About one collection in 16 is timed."""
    trace = tmp_path / "t.alys"
    record(started, trace, vm("chance", 2000000, "+JPperf", "true"))
    rows = assert_law(trace).rows
    assert rows["heap-collections"] / 32 < rows["heap-timed"] < rows["heap-collections"] / 8
    # Of all schedulers together, and no longer than the recording.
    assert 0 < rows["heap-time"] and rows["heap-time-squares"] * 256 ** 2 <= rows["heap-time"] ** 2
    assert re.search(r"a collection took \d+\.\d us on average, \+- \d+\.\d, by [\d,]+ that were timed", text(trace))


def test_collections_put_off(started, vm, tmp_path):
    """A large heap is collected by a dirty scheduler: what it holds is met before that, too, and counts once."""
    trace, times = tmp_path / "t.alys", 200000
    truth = record(started, trace, vm("fetched", times, "+JPperf", "true"))
    row = by_process(trace)[truth["answer"]["fetcher"]]
    assert 11 * times <= row["words"] < 11 * times * 1.01, row
    assert assert_law(trace).rows["unsampled"] > 0


def test_heaps_that_come_back(started, vm, tmp_path):
    """A heap is not where it was because it was not collected: each word counts, and counts once."""
    trace, times = tmp_path / "t.alys", 200000
    truth = record(started, trace, vm("moved", times, "+JPperf", "true"))
    rows = by_process(trace)
    for pid, words in truth["answer"].items():
        assert int(words) <= rows[pid]["words"] < int(words) + 100, (words, rows[pid])
    assert abs(assert_law(trace).rows["heap-collections"] - truth["collections"]) < 0.01 * truth["collections"]


def test_short_lives(started, vm, tmp_path):
    """Processes that end before their first collection count when they end: 80 words of each are known."""
    trace = tmp_path / "t.alys"
    record(started, trace, vm("short", 2000, "+JPperf", "true"))
    assert 2000 * 80 < words_in(trace) < 2000 * 200
    assert_law(trace)


def test_many_schedulers(started, vm, tmp_path):
    trace = tmp_path / "t.alys"
    assert_total(trace, record(started, trace, vm("messages", 500, "+S", "32:32", "+JPperf", "true")))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGABRT])
def test_vm_dies(started, vm, tmp_path, how):
    """Killed or crashed: what was recorded until then is in the trace, and the recording ends by itself."""
    trace = tmp_path / "t.alys"
    program = vm("chance", 1000000000, "+JPperf", "true")
    tracer = started.tracer("-p", program.pid, "--allocator", "beam", "-o", trace).recording()
    program.go()
    wait_until(lambda: has_events(trace))
    program.proc.send_signal(how)
    tracer.wait()
    assert {"words:big/1", "words:small/1"} < {row["function"] for row in table(trace)}
    assert_law(trace)


def test_without_names(started, vm, tmp_path):
    trace = tmp_path / "t.alys"
    truth = record(started, trace, vm("chance", 300000))
    assert_total(trace, truth)
    assert "+JPperf true" in text(trace)
    assert not any("words:" in row["function"] for row in table(trace))


@pytest.mark.parametrize("windows", [False, True])
def test_sampled(started, vm, tmp_path, windows):
    """
    As malloc's calls are: an estimate, whose error is stated, and is no wild one. What windows stand for is known from the VM's own
    counter.
    """
    trace = tmp_path / "t.alys"
    program = vm("chance", 200000000 if windows else 5000000, "+JPperf", "true")
    truth = record(started, trace, program, "--sample", "bytes:64k", "--max-overhead", "10" if windows else "0")
    done = json.loads(alys("report", "--by", "function", "-f", "json", trace).stdout)
    assert done["sampled"] and ("windows" in done) == windows
    ledger = assert_law(trace).rows
    # A heap is read at each call in a window, sampled or not, and that costs.
    assert not windows or ledger["sample-time"] > 100 * ledger["hits-alloc"]
    error = done["total"]["percent_error"]
    assert error < 25, done.get("windows")
    assert abs(100 * words_in(trace) / truth["reclaimed"] - 100) < 4 * max(error, 1)
    rows = {row["function"]: row for row in done["rows"]}
    for name, words in WORDS.items():
        share = 100 * words / sum(WORDS.values())
        assert abs(rows[name]["percent"] - share) < 4 * rows[name]["percent_error"], rows
        assert rows[name]["percent_error"] < 30


def test_what_no_window_met(started, vm, tmp_path):
    """Where only heaps are recorded their own counter says what is missing: CPU time stands for nothing, and is not told."""
    for n in range(5):
        trace = tmp_path / f"{n}.alys"
        record(started, trace, vm("chance", 10000000, "+JPperf", "true"), "--sample", "bytes:4k", "--max-overhead", "0.001")
        info = alys("info", trace).stdout
        # Gaps are random: one may end at once.
        if not re.search(r"^windows .* in \d+ window", info, re.MULTILINE):
            break
    told = next(line for line in info.splitlines() if line.startswith("not sampled"))
    assert re.fullmatch(r"not sampled +\d+ bytes of processes that no window met; more of --max-overhead, or of time, meets more", told)


def test_beside_malloc(started, vm, tmp_path):
    """Without --allocator, the VM's own memory is recorded as well."""
    trace = tmp_path / "t.alys"
    program = vm("chance", 100000, "+JPperf", "true")
    tracer = started.tracer("-p", program.pid, "-o", trace).recording()
    truth = program.go().truths()[0]
    tracer.stop()
    rows = table(trace, "--show", "alloc")
    erlang = sum(row["bytes"] for row in rows if row["function"] in WORDS)
    assert erlang > truth["reclaimed"] * WORD * 0.9
    processes = by_process(trace, "--show", "alloc")
    assert processes["[on no heap of a process]"]["bytes"] == sum(row["bytes"] for row in rows) - sum(
        row["bytes"] for name, row in processes.items() if name[0] == "<")
    assert_law(trace)


def test_kill_9(started, vm, tmp_path):
    """The tracer is killed under load, twice: the VM goes on, and gives the right answer."""
    program = vm("deep", 3000000, "+JPperf", "true")
    first = started.tracer("-p", program.pid, "--allocator", "beam", "-o", tmp_path / "1.alys").recording()
    program.go()
    wait_until(lambda: has_events(tmp_path / "1.alys"))
    first.kill()
    started.tracer("-p", program.pid, "--allocator", "beam", "-o", tmp_path / "2.alys").recording().kill()
    assert program.truths()[0]["answer"] == 3000000
    assert program.finish() == 0


@pytest.mark.parametrize("program,why", [("c_beam_emu", "no JIT (flavor emu)"), ("c_beam_bare", "names no function erts_process_gc_info"),
                                         ("c_beam_odd", "not found in the code of erts_process_gc_info, as it is in OTP 25 and 27")])
def test_refused(started, tmp_path, program, why):
    """What, in which file, and what is recorded in its place; malloc is, where it is asked for."""
    target = started.program(program).wait_ready()
    refused = re.compile(rf"{program}: heaps of Erlang processes are not recorded: .*{re.escape(why)}.*; (.*), and mappings with --maps")
    done = alys("record", "-p", target.pid, "--allocator", "beam", "-o", tmp_path / "t.alys", "-d", "1")
    assert refused.search(done.stderr).group(1) == "without --allocator, calls of malloc are recorded"
    done = alys("record", "-p", target.pid, "-o", tmp_path / "all.alys", "-d", "1")
    assert refused.search(done.stderr).group(1) == "its calls of malloc are recorded" and done.returncode == 0
    assert why in alys("doctor", "--probes", target.pid).stdout


def test_processes_that_lie(started, tmp_path):
    """Heaps whose bounds contradict each other or are nowhere are lost, and counted; what is met again counts once; the VM goes on."""
    trace = tmp_path / "t.alys"
    program = started.program("c_beam_lies").wait_ready()
    truth = record(started, trace, program)
    rows = assert_law(trace, lost=truth["false"]).rows
    assert (rows["recorded-alloc"], rows["hits-alloc"]) == (truth["true"], truth["true"] + truth["false"] + truth["again"])
    assert (rows["unreadable"], rows["unsampled"]) == (truth["false"], truth["again"])
    assert sum(row["bytes"] for row in table(trace)) == truth["bytes"]
    assert program.finish() == 0


def test_vm_started_here(compiled, tmp_path):
    """The program that is started is a script, which has no heaps of Erlang; the VM that it executes has. Without one, a message says so."""
    trace, times = tmp_path / "t.alys", "200000"
    done = subprocess.run([ALYS, "record", "--allocator", "beam", "-o", trace, "--", ERL, "+JPperf", "true", "-noshell", "-pa", compiled, "-run",
                           "words", "main", "chance", times], input="..", capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0 and "no allocator found" not in done.stderr, done.stderr
    assert list(WORDS) == [row["function"] for row in table(trace)][:3]
    done = alys("record", "--allocator", "beam", "-o", tmp_path / "none.alys", "--", "/bin/true")
    assert done.returncode == 0 and re.search("no allocator found in .*, or --allocator leaves out the one it uses", done.stderr)


def test_elixir(started, tmp_path):
    """Names are those of Elixir."""
    trace = tmp_path / "t.alys"
    program = started.program(shutil.which("elixir"), "--erl", "+JPperf true", ROOT / "tests/prog/erlang/basket.exs").wait_ready()
    record(started, trace, program)
    rows = {row["function"]: row["percent"] for row in table(trace, "--inclusive")}
    for name in ("anonymous fn/1 in Shop.Basket.fill!/1", "Enum.map/2", "Shop.Basket.fill!/1", "Shop.Basket.loop/1"):
        assert rows.get(name, 0) > 90, rows
    assert "Shop.Basket" in {row["called"] for row in by_process(trace).values()}
