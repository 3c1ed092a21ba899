# SPDX-License-Identifier: Apache-2.0
"""Outputs of each verb: -o -, files, broken pipes, full disks, closed stdout."""

import json
import os
import pty
import re
import subprocess
import sys

import pytest

from conftest import ALYS, PROGS, TIMEOUT, alys

pytestmark = [pytest.mark.bpf, pytest.mark.beside]
FORMATS = ["json", "jsonl", "pprof", "otlp", "perfetto", "folded-stacks", "flamegraph", "text", "dhat", "heaptrack", "massif", "speedscope", "html"]
BINARY = ["pprof", "otlp", "perfetto", "heaptrack"]
TARGET = PROGS / "cpp_wrappers"


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    out = tmp_path_factory.mktemp("outputs") / "t.alys"
    assert alys("-o", out, "--", TARGET).returncode == 0
    return out


def raw(*args, **kw):
    return subprocess.run([str(ALYS), *map(str, args)], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60,
                          **{"stdout": subprocess.PIPE, **kw})


def at_terminal(*args):
    """Status and output on a terminal, including stderr."""
    master, slave = pty.openpty()
    child = subprocess.Popen([str(ALYS), *map(str, args)], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave)
    os.close(slave)
    text = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
    os.close(master)
    return child.wait(60), text.decode(errors="replace")


# --- standard output -------------------------------------------------------------------------------

def test_a_trace_on_standard_output(tmp_path):
    """To a pipe, to a file, and appended to a file; messages go to standard error."""
    done = raw("-o", "-", "--", TARGET, cwd=tmp_path)
    assert done.returncode == 0 and b"done\n" in done.stderr and b"done\n" not in done.stdout
    assert os.listdir(tmp_path) == []
    for name, mode, before in (("new", "wb", b""), ("old", "ab", b"x" * 5000)):
        path = tmp_path / name
        path.write_bytes(before)
        with path.open(mode) as out:
            assert raw("-o", "-", "--", TARGET, stdout=out).returncode == 0
        assert path.read_bytes()[:len(before)] == before
        path.write_bytes(path.read_bytes()[len(before):])
    (tmp_path / "pipe").write_bytes(done.stdout)
    for name in ("new", "old", "pipe"):
        told = alys("info", "--strict", tmp_path / name)
        assert told.returncode == 0 and re.search(r"hits (\d+) = recorded \1 ", told.stdout), told
        assert "zmalloc" in alys("report", "--no-skip", "--show", "alloc", tmp_path / name).stdout


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_on_standard_output(trace, tmp_path, format):
    """The same bytes to a file and to standard output; messages go to standard error."""
    named = tmp_path / "named"
    assert alys("convert", "-f", format, trace, named).returncode == 0
    for args in (["-o", "-", trace], [trace, "-"], ["--output=-", trace]):
        done = raw("convert", "-f", format, *args, cwd=tmp_path)
        assert done.returncode == 0 and done.stdout == named.read_bytes() and b"hits " in done.stderr
    live, magic = raw("-f", format, "-o", "-", "--", TARGET, cwd=tmp_path), 1 if format == "otlp" else 4  # a length follows it
    assert live.returncode == 0 and live.stdout[:magic] == named.read_bytes()[:magic], live.stderr
    assert b"done\n" not in live.stdout
    assert os.listdir(tmp_path) == ["named"]


def test_pages_and_pictures_on_standard_output(trace, tmp_path):
    for args, begin in ((["report", "--html", "-", trace], b"<!doctype html>"),
                        (["diff", "--show", "alloc", "--flamegraph", "-", trace, trace], b"<?xml")):
        done = raw(*args, cwd=tmp_path)
        assert done.returncode == 0 and done.stdout.startswith(begin), done
    assert os.listdir(tmp_path) == []


def test_a_heap_on_standard_output(started, tmp_path):
    program = started.program("c_types").wait_ready()
    done = raw("dump", "-p", program.pid, "-o", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert os.listdir(tmp_path) == []
    (tmp_path / "heap").write_bytes(done.stdout)
    told = alys("report", "--by", "type", tmp_path / "heap")
    assert told.returncode == 0, told.stderr


@pytest.mark.parametrize("args", [["-o", "-", "--", TARGET], *(["convert", "-f", f, "-o", "-"] for f in BINARY)], ids=str)
def test_binary_is_not_for_a_terminal(trace, args):
    status, text = at_terminal(*args, *([trace] if args[0] == "convert" else []))
    assert status == 1 and "is not for a terminal: redirect standard output, or name a file with -o" in text, text
    assert "done" not in text


def test_text_is_for_a_terminal(trace):
    status, text = at_terminal("convert", "-f", "folded-stacks", "-o", "-", trace)
    assert status == 0 and "main;site_" in text


# --- files -----------------------------------------------------------------------------------------

def test_convert_writes_the_file_it_is_told(trace, tmp_path):
    out, other = tmp_path / "a.json", tmp_path / "b.json"
    assert alys("convert", "-o", out, trace).returncode == 0 and json.loads(out.read_text())
    again = alys("convert", "-o", out, trace)
    assert again.returncode == 1 and "exists" in again.stderr
    both = alys("convert", "-o", out, trace, other)
    assert both.returncode == 2 and "two outputs" in both.stderr and not other.exists()
    assert alys("convert", "-o", "./-", trace, cwd=tmp_path).returncode == 0 and (tmp_path / "-").exists()


def sizes(text):
    """{path: size according to the message}"""
    return {path: said for path, said in re.findall(r"(\S+) \(([\d.]+ (?:B|KiB|MiB))\)", text)}


def said_of(path):
    n = path.stat().st_size
    return f"{n} B" if n < 1024 else f"{n / 1024:.1f} KiB" if n < 1 << 20 else f"{n / (1 << 20):.1f} MiB"


@pytest.mark.parametrize("format", ["alys", *FORMATS])
def test_the_size_said_is_that_of_the_file(trace, tmp_path, format):
    live, later = tmp_path / "live", tmp_path / "later"
    done = alys("-f", format, "-o", live, "--", TARGET)
    assert done.returncode == 0 and sizes(done.stderr) == {str(live): said_of(live)}, done.stderr
    assert len([line for line in done.stderr.splitlines() if "hits " in line]) == 1, "what was recorded is said once"
    if format != "alys":
        done = alys("convert", "-f", format, "-o", later, trace)
        assert done.returncode == 0 and sizes(done.stderr) == {str(later): said_of(later)}, done.stderr


# --- json that does not repeat stacks ---------------------------------------------------------------

@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A trace of a hundred thousand events with few stacks."""
    out = tmp_path_factory.mktemp("many") / "t.alys"
    code = "x = [str(i) * 200 for i in range(60000)]; y = sorted(x); del x, y"
    done = alys("-o", out, "--", "/usr/bin/python3", "-S", "-c", code, timeout=180)
    assert done.returncode == 0, done.stderr
    return out


def measured(trace, *args):
    """The output of convert, and its peak memory in bytes."""
    out = trace.parent / "out"
    # A child shares its parent's pages until exec; this parent is small.
    words = ["-c", "import os, sys; pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ); _, status, used = os.wait4(pid, 0); "
             "print(status, used.ru_maxrss)", ALYS, "convert", "-q", "--force", *args, "-o", out, trace]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=TIMEOUT)
    status, most = done.stdout.split()
    assert status == "0", done.stderr
    return out, int(most) << 10


def test_json_of_many_events(many):
    """With --stacks once: a fraction of the size, the same events, and no more memory than without stacks."""
    each, _ = measured(many, "-f", "json")
    size, whole = each.stat().st_size, json.loads(each.read_text())
    assert len(whole) > 100000
    _, least = measured(many, "-f", "folded-stacks")
    for format in ("json", "jsonl"):
        once, most = measured(many, "-f", format, "--stacks", "once")
        assert once.stat().st_size < size / 4
        assert most < least + (16 << 20), (most, least)
        if format == "json":
            told = json.loads(once.read_text())
            frames = {row["id"]: row["frames"] for row in told["stacks"]}
            assert [{**e, "stack": frames[e["stack"]]} for e in told["events"]] == whole
        else:
            rows = [json.loads(line) for line in once.open()]
            assert sum(r["kind"] != "stack" for r in rows) == len(whole)


def test_options_of_json(trace):
    for args, words in ((["-f", "pprof", "--stacks", "once"], "--stacks is for -f json and -f jsonl"), (["--stacks", "two"], "each|once"),
                        (["-f", "jsonl", "--indent"], "--indent is for -f json")):
        done = alys("convert", *args, trace)
        assert done.returncode == 2 and words in done.stderr, done.stderr


# --- what goes wrong -------------------------------------------------------------------------------

FULL = "cannot write standard output: No space left on device; make room there, or write elsewhere"
SPEAKING = [["report", "--show", "alloc"], ["report", "--html", "-"], ["info"], ["doctor"], ["--help"], ["--print-man"],
            ["convert", "--help"], ["--version"], ["diff", "--show", "alloc"], ["diff", "--show", "alloc", "--flamegraph", "-"],
            *(["convert", "-f", f, "-o", "-"] for f in FORMATS)]


def command(args, trace):
    return [*args, *[trace] * {"report": 1, "info": 1, "diff": 2, "convert": args[-1] != "--help"}.get(args[0], 0)]


@pytest.mark.parametrize("args", SPEAKING, ids=" ".join)
def test_a_full_disk_and_a_closed_output(trace, args):
    with open("/dev/full", "wb") as full:
        done = raw(*command(args, trace), stdout=full)
    assert done.returncode == 1 and done.stderr.decode().splitlines()[-1] == f"alys-bpf: {FULL}", done
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", str(ALYS), *map(str, command(args, trace))], capture_output=True,
                          timeout=60)
    assert done.returncode == 1, done
    assert done.stderr.decode().splitlines()[-1] == "alys-bpf: standard output is closed: redirect it into a file", done


def test_nothing_goes_where_standard_error_should_be(tmp_path):
    """If standard error is closed, no opened file may get its descriptor, and messages with it."""
    out = tmp_path / "t.alys"
    done = subprocess.run(["sh", "-c", 'exec "$@" >&- 2>&-', "sh", str(ALYS), "-v", "-o", str(out), "--", str(TARGET)], timeout=60)
    assert done.returncode in (0, 1)
    told = alys("info", "--strict", out)
    assert told.returncode == 0, told
    assert b"alys-bpf: " not in out.read_bytes()


@pytest.mark.parametrize("format", ["alys", "json"])
def test_a_recording_whose_output_fails(tmp_path, format):
    """The command has run; if the requested output cannot be written, the recording is kept elsewhere."""
    with open("/dev/full", "wb") as full:
        done = raw("-f", format, "-o", "-", "--", TARGET, stdout=full, cwd=tmp_path)
    assert done.returncode == 1 and FULL in done.stderr.decode().splitlines()[-1], done
    kept = os.listdir(tmp_path)
    assert len(kept) == (format != "alys")
    for name in kept:
        assert f"the recording is kept in {name}" in done.stderr.decode()
        assert alys("info", "--strict", tmp_path / name).returncode == 0


def test_a_reader_that_goes_ends_the_recording(tmp_path, started):
    program = started.program("c_grow").wait_ready().go()
    tracer = subprocess.Popen([str(ALYS), "-o", "-", "-p", str(program.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              cwd=tmp_path)
    assert tracer.stdout.read(8)
    tracer.stdout.close()
    assert tracer.wait(60) == 1
    last = tracer.stderr.read().decode().splitlines()[-1]
    assert last == "alys-bpf: cannot write standard output: its reader has gone", last
    assert program.finish() == 0


@pytest.mark.parametrize("args", [["dump", "-o", "-"], ["census"], ["graph", "--show", "counts"], ["report", "--heap"]], ids=" ".join)
def test_views_of_a_heap_whose_output_fails(started, args):
    program = started.program("c_types").wait_ready()
    with open("/dev/full", "wb") as full:
        done = raw(*args, "-p", program.pid, stdout=full)
    assert done.returncode == 1 and done.stderr.decode().splitlines()[-1] == f"alys-bpf: {FULL}", done
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as out:
        done = raw(*args, "-p", program.pid, stdout=out)
    assert done.returncode == 1 and done.stderr.decode().splitlines()[-1] == \
        "alys-bpf: cannot write standard output: its reader has gone", done


@pytest.mark.parametrize("args", [["convert", "-f", "json", "-o", "-"], ["report", "--by", "time", "--top", "0"]], ids=" ".join)
def test_a_reader_that_goes(trace, args):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as out:
        done = raw(*args, trace, stdout=out)
    assert done.returncode == 1 and done.stderr.decode().splitlines()[-1] == \
        "alys-bpf: cannot write standard output: its reader has gone", done


def test_root_is_not_told_to_be_root(started, tmp_path):
    """The message names the file, its owner, the reason, and the capability that root lacks here."""
    program = started.program("c_busy").wait_ready()
    lacking = ["capsh", "--drop=cap_sys_ptrace,cap_dac_override,cap_dac_read_search,cap_checkpoint_restore,cap_sys_admin", "--", "-c", 'exec "$0" "$@"']
    done = subprocess.run([*lacking, str(ALYS), "-o", str(tmp_path / "t"), "-p", str(program.pid)], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 1 and "run as root" not in done.stderr, done
    assert re.search(rf"/c_busy of process {program.pid} \(and \d+ more files\) could not be opened: \w.*; root here lacks "
                     r"CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_CHECKPOINT_RESTORE", done.stderr), done
