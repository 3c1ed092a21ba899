# SPDX-License-Identifier: Apache-2.0
"""A program's own probes for allocations (USDT): counts and weights are the program's, counters of tracers are left as they were."""

import json
import os
import re
import signal
import struct
import subprocess

import pytest

from conftest import ALYS, PROGS, TIMEOUT, alys, assert_law, assert_same, changed_text, events_of, tally, wait_until, was_held

pytestmark = [pytest.mark.bpf, pytest.mark.beside]

PROGRAM = "c_usdt"
COUNTED = {"site_usdt_counted", "site_usdt_counted_free"}


def counters(pid):
    """The two counters of tracers, in the process' memory."""
    listed = subprocess.run(["nm", PROGS / PROGRAM], capture_output=True, text=True, check=True, timeout=TIMEOUT).stdout
    base = int(open(f"/proc/{pid}/maps").readline().split("-")[0], 16)
    with open(f"/proc/{pid}/mem", "rb", 0) as mem:
        found = []
        for at in re.findall(r"^(\S+) \S (?:alloc|free)_semaphore$", listed, re.M):
            mem.seek(base + int(at, 16))
            found += struct.unpack("H", mem.read(2))
    assert len(found) == 2
    return found


def is_probed(program):
    """Its own code only: that of libraries may have probes of tests beside this one."""
    return any(path.endswith(PROGRAM) for path in changed_text(program.pid))


def begin(started, trace, *args):
    program = started.program(PROGRAM).wait_ready()
    tracer = started.tracer("-a", "usdt", "-p", program.pid, "-o", trace, *args).recording()
    assert is_probed(program)
    return program, tracer


def test_every_report_once(started, tmp_path):
    trace = tmp_path / "t.alys"
    program, tracer = begin(started, trace)
    assert counters(program.pid) == [1, 1]
    program.go()
    truth = program.truths()[0]
    tracer.stop()
    assert counters(program.pid) == [0, 0]
    assert not is_probed(program)
    assert truth["sites"]["site_usdt_counted"]["allocs"] == 500
    assert_same(truth["sites"], tally(events_of(trace, tmp_path))[program.pid])
    book = assert_law(trace, lost=2)
    assert book.skipped == 0 and book.rows["unreadable"] == 2, book  # a negative weight and a negative size
    assert re.search(r"^own probes +6 of 9 notes for allocations in \S+/c_usdt$", alys("info", trace).stdout, re.M)


def test_weights(started, tmp_path):
    """One block in ten is reported, and weighs as much as ten; the others weigh themselves."""
    trace = tmp_path / "t.alys"
    program, tracer = begin(started, trace)
    program.go()
    truth = program.truths()[0]["sites"]
    tracer.stop()
    done = alys("report", "--show", "alloc", "-f", "json", trace)
    assert done.returncode == 0, done.stderr
    told = {row["site"].split()[0]: row for row in json.loads(done.stdout)["rows"]}
    for name, site in truth.items():
        times = 10 if name == "site_usdt_sampled" else 1
        if site["allocs"]:
            assert told[name]["bytes"] == pytest.approx(times * site["bytes"], rel=0.001), name
    assert "samples that the program took itself" in alys("report", trace).stdout + alys("report", trace).stderr


def test_probes_of_systemtaps_header(started, tmp_path):
    """One block in eight is reported: each is recorded, and stands for eight."""
    trace = tmp_path / "t.alys"
    program = started.program("c_sdt").wait_ready()
    tracer = started.tracer("-a", "usdt", "-p", program.pid, "-o", trace).recording()
    program.go()
    truth = program.truths()[0]["sites"]
    tracer.stop()
    assert truth["site_sdt_alloc"]["allocs"] == 500
    assert_same(truth, tally(events_of(trace, tmp_path))[program.pid])
    (row,) = json.loads(alys("report", "--show", "alloc", "-f", "json", trace).stdout)["rows"]
    assert row["bytes"] == pytest.approx(8 * truth["site_sdt_alloc"]["bytes"], rel=0.001)
    assert assert_law(trace).skipped == 0


def test_counters_after_kill(started, tmp_path):
    program, tracer = begin(started, tmp_path / "t.alys")
    assert counters(program.pid) == [1, 1]
    tracer.proc.send_signal(signal.SIGKILL)
    tracer.proc.communicate(timeout=TIMEOUT)
    wait_until(lambda: counters(program.pid) == [0, 0] and not is_probed(program))
    program.go()
    assert program.truths()[0]["sites"]["site_usdt_free"]["frees"]
    assert program.finish() == 0


def test_not_beside_malloc(started, tmp_path):
    """Without --allocator usdt these probes are left alone: every block counts once, as malloc's."""
    trace = tmp_path / "t.alys"
    program = started.program(PROGRAM).wait_ready()
    tracer = started.tracer("-p", program.pid, "-o", trace).recording()
    assert counters(program.pid) == [0, 0]
    program.go()
    truth = program.truths()[0]["sites"]
    tracer.stop()
    assert not COUNTED & set(truth)
    assert assert_law(trace).rows["recorded-alloc"] == 8 * 500 + 1


def test_others_are_left_alone(started, tmp_path):
    """The counter of a process that runs the same program and is not traced stays 0, with --follow, too."""
    other = started.program(PROGRAM).wait_ready()
    program, tracer = begin(started, tmp_path / "t.alys", "--follow")
    assert counters(program.pid) == [1, 1] and counters(other.pid) == [0, 0]
    tracer.stop()


def record_both(started, trace, *options):
    """The truths of a program that reports its blocks itself, and of one that does not."""
    noted, plain = started.program(PROGRAM).wait_ready(), started.program("c_fixed").wait_ready()
    tracer = started.tracer("-a", "usdt,all", "-p", f"{noted.pid},{plain.pid}", "-o", trace, *options).recording()
    wait_until(lambda: counters(noted.pid) == [1, 1] and changed_text(plain.pid))
    truths = [program.go().truths()[0] for program in (noted, plain)]
    tracer.stop()
    return truths


@pytest.mark.parametrize("options", [(), ("--follow",)], ids=["own-links", "shared-links"])
def test_beside_the_allocators_of_others(started, tmp_path, options):
    """Blocks of a program's own probes count there, and not as malloc's; malloc is probed in the other program."""
    trace = tmp_path / "t.alys"
    noted, plain = record_both(started, trace, *options)
    found = tally(events_of(trace, tmp_path))
    for truth in (noted, plain):
        assert_same(truth["sites"], found[truth["pid"]])
        assert sum(site["allocs"] for site in found[truth["pid"]].values()) == sum(site["allocs"] for site in truth["sites"].values())
    assert assert_law(trace, lost=2).skipped == 0
    assert re.search(r"^own probes +6 of 9 notes for allocations in \S+/c_usdt$", alys("info", trace).stdout, re.M)
    told = alys("report", trace).stdout
    assert "\nestimated from samples that programs took themselves, with their weights; of other programs each call is recorded\n" in told, told


@pytest.mark.parametrize("limit", ["0", "1"])
def test_weights_beside_samples(started, tmp_path, limit):
    """Samples that the program drew keep its weights, also between windows; those of the other program have ours."""
    trace = tmp_path / "t.alys"
    noted, plain = record_both(started, trace, "--sample", "bytes:8k", "--max-overhead", limit)
    done = alys("report", "--show", "alloc", "-f", "json", trace)
    assert done.returncode == 0, done.stderr
    sheet = json.loads(done.stdout)
    assert any("one per 8192 bytes on average; those that programs took themselves have weights of their own" in n for n in sheet["notes"])
    told = {row["site"].split()[0]: row for row in sheet["rows"]}
    for name, site in noted["sites"].items():
        if site["allocs"]:
            times = 10 if name == "site_usdt_sampled" else 1
            assert told[name]["bytes"] == pytest.approx(times * site["bytes"], rel=0.001), name
    for name, site in plain["sites"].items():
        if site["allocs"] and limit == "0":
            assert 0 < told[name]["error"] and abs(told[name]["bytes"] - site["bytes"]) < 5 * told[name]["error"], name


def test_a_daemon_takes_either(daemon, started):
    noted, plain = started.program(PROGRAM).wait_ready(), started.program("c_fixed").wait_ready()
    d = daemon("-p", noted.pid, "-p", plain.pid, "--follow", "--allocator", "usdt,all", "--sample", "bytes:4k", "--max-overhead", "0")
    d.until(lambda: counters(noted.pid) == [1, 1] and changed_text(plain.pid))
    truths = [sum(site["bytes"] for site in program.go().truths()[0]["sites"].values()) for program in (noted, plain)]
    weighed = truths[0] + 9 * 50 * 512  # one block in ten of 500 stands for ten
    d.until(lambda: d.top(noted.pid, "alloc_space")[None] == pytest.approx(weighed, rel=0.001))
    d.until(lambda: d.top(plain.pid, "alloc_space")[None] == pytest.approx(truths[1], rel=0.05))
    d.end()
    assert counters(noted.pid) == [0, 0]


def test_one_process_with_and_without(tmp_path):
    """A shell becomes a program with probes of its own, and that one without: each is recorded by what it has."""
    trace = tmp_path / "t.alys"
    done = subprocess.run([ALYS, "-q", "-a", "usdt,all", "--follow", "-o", trace, "--", "sh", "-c",
                           f"exec {PROGS / PROGRAM} {PROGS / 'c_fixed'}"], text=True, capture_output=True, timeout=TIMEOUT,
                          env={**os.environ, "ALYS_NO_WAIT": "1"})
    assert done.returncode == 0, done.stderr
    noted, plain = map(json.loads, done.stdout.splitlines())
    found, sites = tally(events_of(trace, tmp_path))[plain["pid"]], noted["sites"] | plain["sites"]
    book = assert_law(trace, lost=None)
    if was_held(book):
        assert_same(sites, {name: site for name, site in found.items() if name in sites})
        assert None in found and book.lost == 2, "the shell's own allocations, and negative sizes"


def test_a_program_that_executes_itself(tmp_path):
    """Its probes outlast the exec, and malloc's calls are passed over again: no block counts twice."""
    trace, program = tmp_path / "t.alys", PROGS / PROGRAM
    done = subprocess.run([ALYS, "-q", "-a", "usdt,all", "--follow", "-o", trace, "--", program, program], text=True, capture_output=True,
                          timeout=TIMEOUT, env={**os.environ, "ALYS_NO_WAIT": "1"})
    assert done.returncode == 0, done.stderr
    truths = [json.loads(line) for line in done.stdout.splitlines()]
    found = tally(events_of(trace, tmp_path))[truths[0]["pid"]]
    assert len(truths) == 2
    if was_held(assert_law(trace, lost=None)):
        assert sum(site["allocs"] for site in found.values()) == sum(site["allocs"] for truth in truths for site in truth["sites"].values())


def test_listed(started):
    program = started.program(PROGRAM).wait_ready()
    said = alys("doctor", "--probes", program.pid).stdout
    assert re.search(r"otel_memory:alloc \(usdt\) at \S+, found by its note: probed with --allocator usdt: .*\n +no semaphore, arguments 8@8\(%rbx\)", said)
    assert re.search(r"ddheap:free \(usdt\) at \S+, found by its note: probed .*\n +semaphore, arguments 8@%rdi", said)
    assert len(re.findall(r"refused: an argument is neither a constant", said)) == 2
    assert re.search(r"refused: its instruction is not a plain nop", said)


@pytest.mark.parametrize("words, sentence", [
    (("-a", "usdt", "-s", "bytes:4096"), "--allocator usdt has the samples that the program takes"),
    (("-a", "usdt"), "no probe otel_memory:alloc or ddheap:alloc that can be used"),
])
def test_refused(started, tmp_path, words, sentence):
    program = started.program("c_fixed").wait_ready()
    done = alys(*words, "-p", program.pid, "-o", tmp_path / "t.alys")
    assert done.returncode and sentence in done.stderr and done.stderr.count("\n") == 1, done.stderr
