# SPDX-License-Identifier: Apache-2.0
"""Allocators that the user names: --alloc, --realloc and --free, instead of what they call or beside it."""

import json
import os
import re
import shutil
import signal
import subprocess

import pytest

from conftest import ALYS, PROGS, ROOT, TIMEOUT, alys, assert_law, events_of, was_held

pytestmark = [pytest.mark.bpf, pytest.mark.beside]

POOL = ["--alloc", "pool_alloc(size=2)", "--alloc", "c_pool:pool_z*(count=2,size=3)", "--alloc", "pool_take(size=2,out=3)",
        "--realloc", "pool_grow(ptr=2,size=3)", "--realloc", "pool_regrow(ptr=2,count=3,size=4)", "--free", "pool_free(ptr=3)"]

ROWS = 2000
PYTHON = ["--alloc", "python3*:PyObject_Malloc(size=1)", "--alloc", "python3*:PyObject_Calloc(count=1,size=2)", "--realloc",
          "python3*:PyObject_Realloc(ptr=1,size=2)", "--free", "python3*:PyObject_Free(ptr=1)"]
BYTES = 33  # around the bytes of an object


def record(started, trace, program, *words, options=()):
    """The truth of a process that was recorded from its first call to its last."""
    target = started.program(program, *words).wait_ready()
    tracer = started.tracer("--force", "-p", str(target.pid), "-o", trace, *options).recording()
    target.go()
    truth = target.truths()[0]
    tracer.stop()
    target.kill()
    assert_law(trace)
    return truth["sites"]


def rows(trace, show):
    done = alys("report", "--show", show, "-f", "json", trace)
    assert done.returncode == 0, done.stderr
    return {row["site"].split()[0].split("(")[0]: (row["count"], row["bytes"]) for row in json.loads(done.stdout)["rows"]}


def allocated(truth):
    return {name: (t["allocs"] + t["reallocs"], t["bytes"] + t["realloc_bytes"])
            for name, t in truth.items() if t["allocs"] + t["reallocs"]}


def live(truth):
    return {name: (t["live"], t["live_bytes"]) for name, t in truth.items() if t["live"]}


@pytest.mark.parametrize("how", ["instead", "beside"])
def test_a_pool_counts_exactly(started, tmp_path, how):
    trace = tmp_path / "t.alys"
    truth = record(started, trace, "c_pool", how, options=[*POOL, "--nested", how])
    assert ("site_chunk" in truth) == (how == "beside")
    assert rows(trace, "alloc") == allocated(truth)
    assert rows(trace, "live") == live(truth)


def test_a_child_of_a_launched_command_has_them_too(tmp_path):
    trace = tmp_path / "t.alys"
    done = subprocess.run([ALYS, "-q", "--follow", "-o", trace, *POOL, "--", "sh", "-c", f"{PROGS}/c_pool; exit 0"], text=True,
                          capture_output=True, timeout=TIMEOUT, env={**os.environ, "ALYS_NO_WAIT": "1"})
    assert done.returncode == 0, done.stderr
    assert_law(trace)
    truth = json.loads(done.stdout)["sites"]
    told = rows(trace, "alloc")
    assert {name: told[name] for name in truth if name in told} == allocated(truth)


def test_a_live_report_has_them(started):
    target = started.program("c_pool").wait_ready()
    report = subprocess.Popen([ALYS, "report", "-v", "-p", str(target.pid), *POOL, "--show", "alloc", "-f", "json"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert any("recording" in line for line in report.stderr)
    target.go()
    truth = target.truths()[0]["sites"]
    report.send_signal(signal.SIGINT)
    told, said = report.communicate(timeout=TIMEOUT)
    target.kill()
    assert report.returncode == 0, said
    assert {row["site"].split()[0].split("(")[0]: (row["count"], row["bytes"]) for row in json.loads(told)["rows"]} == allocated(truth)


def test_a_trace_has_its_functions_already(tmp_path):
    done = alys("report", "--alloc", "f(size=1)", ROOT / "tests/golden/v1.alys")
    assert done.returncode == 2 and "--alloc, --realloc and --free are for -p PID without a trace" in done.stderr


def test_samples_of_a_pool_stay_within_their_error(started, tmp_path):
    trace = tmp_path / "t.alys"
    truth = record(started, trace, "c_pool", options=[*POOL, "--sample", "bytes:1k"])
    told = json.loads(alys("report", "--show", "alloc", "-f", "json", trace).stdout)["rows"]
    asked = sum(size for _, size in allocated(truth).values())
    error = sum(row["error"] ** 2 for row in told) ** 0.5
    assert 0 < error < asked / 10
    assert abs(sum(row["bytes"] for row in told) - asked) < 4 * error


def test_a_jump_through_a_pointer(started, tmp_path):
    """It is followed to where the pointer leads at first."""
    trace = tmp_path / "t.alys"
    truth = record(started, trace, "c_hook", options=["--alloc", "hook_alloc(size=1)"])
    assert truth["site_hooked"]["allocs"] == 1000 and rows(trace, "alloc") == allocated(truth)
    target = started.program("c_hook").wait_ready()
    done = alys("doctor", "--probes", str(target.pid), "--alloc", "hook_alloc(size=1)")
    target.kill()
    assert re.search(r"hook_alloc \(own\)(.*\n)+? +1 jumps through pointers followed to where they point at first", done.stdout), done.stdout


def test_a_pointer_that_was_changed(started, tmp_path):
    """Then results leave unseen, and calls of the function to which it pointed at first are no results."""
    trace = tmp_path / "t.alys"
    target = started.program("c_hook", "changed").wait_ready()
    tracer = started.tracer("-p", str(target.pid), "-o", trace, "-a", "own", "--alloc", "hook_alloc(size=1)").recording()
    target.go()
    assert target.truths()[0]["sites"]["site_hooked"]["allocs"] == 1000
    tracer.stop()
    target.kill()
    book = assert_law(trace, lost=1000)
    assert book.recorded == 0 and book.rows["no-return-hook_alloc@c_hook"] == 1000, book


def test_a_pointer_of_python(tmp_path):
    """Its PyObject_Calloc ends in a jump through a pointer. A program at a fixed address has no relocation for that."""
    trace = tmp_path / "t.alys"
    done = alys(*PYTHON, "-o", trace, "--", "/usr/bin/python3", "-c", f"kept = [bytes(200) for i in range({ROWS})]")
    assert done.returncode == 0, done.stderr
    if was_held(assert_law(trace, lost=None)):
        sizes = [event["size"] for event in events_of(trace, tmp_path) if event["kind"] == "alloc"]
        assert sizes.count(BYTES + 200) >= ROWS and assert_law(trace)


def test_methods_are_named_as_they_are_shown(started, tmp_path):
    trace = tmp_path / "t.alys"
    truth = record(started, trace, "cpp_pool", options=["--alloc", "shop::Pool::take(size=2)", "--free", "shop::Pool::g*(ptr=2)"])
    assert rows(trace, "alloc") == allocated(truth)
    assert rows(trace, "live") == live(truth)


def test_own_alone_leaves_out_malloc(started, tmp_path):
    trace = tmp_path / "t.alys"
    truth = record(started, trace, "c_pool", "beside", options=[*POOL, "--nested", "beside", "--allocator", "own"])
    expected = allocated(truth)
    del expected["site_chunk"], expected["site_malloc"]
    assert rows(trace, "alloc") == expected


def test_the_last_pattern_that_matches_counts(started, tmp_path):
    target = started.program("c_pool").wait_ready()
    done = alys("doctor", "--probes", str(target.pid), "--alloc", "pool_*(size=2)", "--free", "pool_free(ptr=3)")
    target.kill()
    assert "pool_alloc (own)" in done.stdout and "found by --alloc pool_*(size=2)" in done.stdout
    assert "pool_free (own)" in done.stdout and "found by --free pool_free(ptr=3)" in done.stdout


@pytest.mark.parametrize("spec", ["no_such(size=1)", "libpool.so:pool_alloc(size=2)"])
def test_a_function_that_is_nowhere_is_refused(started, tmp_path, spec):
    target = started.program("c_pool").wait_ready()
    done = alys("-p", str(target.pid), "-d", "1", "-o", tmp_path / "t.alys", "--alloc", spec)
    target.kill()
    assert done.returncode and f"--alloc {spec}: no such function" in done.stderr, done.stderr


@pytest.mark.parametrize("specs", [["pool_a*(size=2)", "pool_*(size=2)"], ["libc.so.6:malloc(size=1)"]])
def test_a_pattern_whose_matches_are_all_taken_is_told(started, tmp_path, specs):
    """By a later one, or by the table of allocators: nothing is wrong with the others."""
    target = started.program("c_pool").wait_ready()
    words = [word for spec in specs for word in ("--alloc", spec)]
    done = alys("-p", str(target.pid), "-d", "0.2", "-o", tmp_path / "t.alys", *words)
    target.kill()
    assert done.returncode == 0 and f"--alloc {specs[0]}: what matches is recorded by another option" in done.stderr, done.stderr


def test_a_function_that_a_stripped_program_hides_is_refused(started, tmp_path):
    program = tmp_path / "stripped"
    shutil.copy(PROGS / "c_pool", program)
    subprocess.run(["strip", program], check=True)
    target = started.program(program).wait_ready()
    done = alys("-p", str(target.pid), "-d", "1", "-o", tmp_path / "t.alys", "--alloc", "pool_alloc(size=2)")
    target.kill()
    assert done.returncode and "of a stripped one, only exported functions have names" in done.stderr, done.stderr


@pytest.mark.parametrize("option, spec", [
    ("--alloc", "pool_alloc"), ("--alloc", "pool_alloc()"), ("--alloc", "(size=1)"), ("--alloc", "f(size=0)"),
    ("--alloc", "f(size=7)"), ("--alloc", "f(size=1,size=2)"), ("--alloc", "f(ptr=1)"), ("--alloc", "f(size=1,out=2,count=3)"),
    ("--alloc", "f(size=1"), ("--alloc", "f(size=x)"), ("--alloc", "f(size=+1)"), ("--alloc", ":f(size=1)"), ("--realloc", "f(ptr=1)"),
    ("--free", "f(size=1)"), ("--free", "f(ptr=1,)"), ("--alloc", "f(size=1)\ng(size=1)"),
])
def test_a_description_of_another_form_is_refused(tmp_path, option, spec):
    done = alys("-p", "1", "-o", tmp_path / "t.alys", option, spec)
    assert done.returncode and f"{option} wants [FILE:]FUNCTION(" in done.stderr, done.stderr


def test_too_many_functions_are_refused(tmp_path):
    done = alys("-p", "1", "-o", tmp_path / "t.alys", *[word for i in range(33) for word in ("--alloc", f"f{i}(size=1)")])
    assert done.returncode and "more than 32 functions" in done.stderr, done.stderr


def test_a_daemon_has_them_in_its_configuration(daemon, started, tmp_path):
    config = tmp_path / "alys-bpf.conf"
    config.write_text("alloc = c_pool:pool_alloc(size=2)\nfree = c_pool:pool_free(ptr=3)\nallocator = own\n")
    target = started.program("c_pool").wait_ready()
    d = daemon("-p", str(target.pid), "--sample", "bytes:1", "--config", str(config))
    d.await_probes(PROGS / "c_pool")
    target.go()
    truth = target.truths()[0]["sites"]
    calls = allocated(truth)
    asked = sum(calls[site][0] for site in ("site_alloc", "site_zalloc", "site_grow", "site_regrow", "site_take"))
    d.until(lambda: d.top(target.pid).get(None) == asked)
    d.ctl("off")
    d.end()
    target.kill()


INITDB, POSTGRES = (f"/usr/lib/postgresql/15/bin/{name}" for name in ("initdb", "postgres"))
PALLOC = ["--alloc", "postgres:palloc*(size=1)", "--alloc", "postgres:MemoryContextAlloc*(size=2)", "--realloc",
          "postgres:repalloc(ptr=1,size=2)", "--free", "postgres:pfree(ptr=1)"]


def test_the_pools_of_postgres(public, tmp_path):
    """Its memory contexts get chunks from malloc, which would say only that they grew."""
    cluster = public.folder / "cluster"
    public.folder.chmod(0o777)
    subprocess.run([INITDB, "-D", cluster, "-A", "trust", "-N"],
                   user="postgres", cwd=public.folder, check=True, capture_output=True, timeout=TIMEOUT)
    trace = tmp_path / "t.alys"
    query = public.folder / "query.sql"
    query.write_text(f"select max(md5(x::text)) from generate_series(1, {ROWS}) x;\n")
    server = f"exec setpriv --reuid=postgres --clear-groups {POSTGRES} --single -D {cluster} postgres < {query}"
    done = alys("-o", trace, *PALLOC, "--", "/bin/sh", "-c", server)
    assert done.returncode == 0, done.stderr
    if was_held(assert_law(trace)):
        assert rows(trace, "alloc")["cstring_to_text"][0] >= ROWS
