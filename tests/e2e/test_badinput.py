# SPDX-License-Identifier: Apache-2.0
"""On any error: one sentence with the object and a remedy, an exit status, and no files left behind."""

import os
import re
import resource
import shutil
import stat
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from conftest import ALYS, PROGS, STRAIGHT, TIMEOUT, alys, assert_law, each_event, convert, ledger

pytestmark = pytest.mark.beside

MESSAGE = re.compile(r"alys-bpf: .+\n")


def assert_refused(done, *words, status=None):
    """One line on stderr, apart from a trace's ledger; it contains all the regular expressions."""
    assert done.returncode > 0 if status is None else done.returncode == status, (done.returncode, done.stderr)
    text = re.sub(r"^alys-bpf: hits .*\n", "", done.stderr)
    assert MESSAGE.fullmatch(text), done.stderr
    for word in words:
        assert re.search(word, text), done.stderr


@pytest.fixture
def target(started):
    return started.program("c_libc").wait_ready()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The bytes of an undamaged trace."""
    path = tmp_path_factory.mktemp("good") / "good.alys"
    done = alys("-o", path, "--", PROGS / "c_libc", env=STRAIGHT)
    assert done.returncode == 0, done.stderr
    return path.read_bytes()


# --- targets ---------------------------------------------------------------------------------------

def free_pid():
    return next(pid for pid in range(int(Path("/proc/sys/kernel/pid_max").read_text()) - 1, 1, -1)
                if not os.path.exists(f"/proc/{pid}"))


def kernel_thread():
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(path.read_text().rsplit(")", 1)[1].split()[6]) & 0x200000:
                return int(path.parent.name)
        except OSError:
            pass
    pytest.skip("no kernel thread to be seen from here")


@pytest.mark.bpf
def test_no_such_process(tmp_path):
    pid = free_pid()
    assert_refused(alys("-p", pid, "-o", tmp_path / "t.alys"), str(pid), r"no such process|not running|no process",
                   status=3)
    assert not list(tmp_path.iterdir())


@pytest.mark.bpf
def test_kernel_thread(tmp_path):
    pid = kernel_thread()
    assert_refused(alys("-p", pid, "-o", tmp_path / "t.alys"), str(pid), "kernel thread")
    assert not list(tmp_path.iterdir())


@pytest.mark.bpf
def test_zombie(tmp_path):
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    try:
        assert_refused(alys("-p", child.pid, "-o", tmp_path / "t.alys"), str(child.pid))
        assert not list(tmp_path.iterdir())
    finally:
        child.wait()


@pytest.mark.bpf
def test_process_without_an_allocator(tmp_path):
    child = subprocess.Popen(["/bin/busybox", "sleep", "60"])
    try:
        assert_refused(alys("-p", child.pid, "-o", tmp_path / "t.alys"), "busybox", "allocator", status=3)
        assert not list(tmp_path.iterdir())
    finally:
        child.kill()
        child.wait()


@pytest.mark.bpf
def test_allocator_that_the_target_does_not_have(target, tmp_path):
    assert_refused(alys("-p", target.pid, "--allocator", "jemalloc", "-o", tmp_path / "t.alys"), "--allocator", status=3)


@pytest.mark.bpf
def test_one_of_several_processes_is_missing(target, tmp_path):
    pid = free_pid()
    assert_refused(alys("-p", f"{target.pid},{pid}", "-o", tmp_path / "t.alys"), str(pid))
    assert not list(tmp_path.iterdir())


@pytest.mark.bpf
def test_not_root(target):
    """Run from a directory that other users may not enter."""
    place = tempfile.mkdtemp(dir="/tmp")
    try:
        os.chmod(place, 0o777)
        binary = shutil.copy(ALYS, place)
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", binary, "-p",
                               str(target.pid), "-o", place + "/t.alys"], capture_output=True, text=True)
        assert_refused(done, r"sudo|root|privilege|CAP_")
        assert not os.path.exists(place + "/t.alys")
    finally:
        shutil.rmtree(place)


@pytest.mark.bpf
def test_command_that_is_not_there(tmp_path):
    assert_refused(alys("-o", tmp_path / "t.alys", "--", "/no/such/program"), "/no/such/program")
    assert not list(tmp_path.iterdir())


@pytest.mark.bpf
def test_command_status_is_passed_on(tmp_path):
    assert alys("-q", "-o", tmp_path / "t.alys", "--", "/bin/sh", "-c", "exit 7").returncode == 7


# --- outputs ---------------------------------------------------------------------------------------

@pytest.mark.bpf
def test_existing_output_is_kept(target, tmp_path):
    trace = tmp_path / "t.alys"
    trace.write_text("precious")
    assert_refused(alys("-p", target.pid, "-d", "1", "-o", trace), "t.alys", "--force")
    assert trace.read_text() == "precious"
    assert alys("-p", target.pid, "-d", "0.2", "--force", "-o", trace).returncode == 0
    assert alys("info", trace).returncode == 0


@pytest.mark.bpf
@pytest.mark.parametrize("force", [[], ["--force"]])
def test_symbolic_link_is_not_followed(target, tmp_path, force):
    aim, trace = tmp_path / "aim", tmp_path / "t.alys"
    aim.write_text("precious")
    trace.symlink_to(aim)
    assert_refused(alys("-p", target.pid, "-d", "1", "-o", trace, *force), "t.alys")
    assert aim.read_text() == "precious"
    trace.unlink()
    trace.symlink_to(tmp_path / "nowhere")
    assert_refused(alys("-p", target.pid, "-d", "1", "-o", trace, *force), "t.alys")
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.bpf
def test_output_that_cannot_be_written(target, tmp_path):
    assert_refused(alys("-p", target.pid, "-o", tmp_path / "no" / "t.alys"), "no/t.alys", "-o")
    assert_refused(alys("-p", target.pid, "-o", "/proc/t.alys"), "/proc/t.alys")
    assert_refused(alys("-p", target.pid, "-o", "/dev/full"), "/dev/full")
    assert_refused(alys("-p", target.pid, "-o", tmp_path), str(tmp_path))


@pytest.mark.bpf
def test_trace_is_its_owners_alone(target, tmp_path):
    trace = tmp_path / "t.alys"
    old = os.umask(0)
    try:
        assert alys("-p", target.pid, "-d", "0.2", "-o", trace).returncode == 0
        convert(trace, "pprof", tmp_path / "t.pb.gz")
    finally:
        os.umask(old)
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


@pytest.mark.bpf
def test_disk_that_fills_up(started, tmp_path):
    """Events recorded before are kept, later ones are counted as lost, and the target is not disturbed."""
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", small], check=True)
    try:
        program = started.program("c_busy").wait_ready()
        tracer = started.tracer("-p", program.pid, "-o", small / "t.alys").recording()
        program.go()
        wait_until_full(small / "t.alys")
        tracer.proc.send_signal(2)
        assert tracer.wait() > 0, tracer.text + alys("info", small / "t.alys").stdout
        assert re.search(r"t\.alys.*(No space left|full)|(No space left|full).*t\.alys", tracer.text), tracer.text
        assert program.finish() == 0
        info = alys("info", small / "t.alys")
        assert info.returncode == 0, info.stderr
        assert sum(1 for _ in each_event(convert(small / "t.alys", "json", tmp_path / "t.json"))) > 1000
    finally:
        subprocess.run(["umount", "-l", small], check=True)


@pytest.mark.bpf
def test_disk_that_is_full_from_the_begin(target, tmp_path):
    """If nothing was recorded, no file is left that would block the next attempt."""
    trace = tmp_path / "t.alys"
    done = subprocess.run([str(ALYS), "-p", str(target.pid), "-d", "1", "-o", str(trace)], capture_output=True, text=True, timeout=60,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16)))
    assert_refused(done, r"cannot write .*t\.alys: File too large")
    assert not trace.exists()


def wait_until_full(trace):
    """Waits until the file stops growing. Free space is no sign: the writer may have reserved it."""
    sizes, end = [], time.monotonic() + TIMEOUT
    while len(sizes) < 5 or len(set(sizes[-5:])) > 1 or sizes[-1] <= 100000:
        assert time.monotonic() < end, "the disk did not fill up"
        time.sleep(0.7)
        sizes.append(trace.stat().st_size)


@pytest.mark.bpf
def test_output_full_while_converting(recorded, tmp_path):
    trace = tmp_path / "t.alys"
    trace.write_bytes(recorded)
    for fmt in ("json", "pprof", "folded-stacks", "flamegraph", "text"):
        with open("/dev/full", "w") as full:
            done = subprocess.run([str(ALYS), "convert", "-f", fmt, str(trace), "-"], stdout=full,
                                  stderr=subprocess.PIPE, text=True)
        assert_refused(done, "No space left")


@pytest.mark.bpf
def test_reader_that_goes_away(recorded, tmp_path):
    trace = tmp_path / "t.alys"
    trace.write_bytes(recorded)
    done = subprocess.run(f"{ALYS} convert -f json {trace} - | head -c 100", shell=True, capture_output=True)
    assert len(done.stdout) == 100
    assert done.stderr.count(b"\n") <= 2


@pytest.mark.bpf
def test_conversion_keeps_what_is_there(recorded, tmp_path):
    trace, out = tmp_path / "t.alys", tmp_path / "t.svg"
    trace.write_bytes(recorded)
    out.symlink_to(tmp_path / "aim")
    assert_refused(alys("convert", "-f", "flamegraph", trace, out), "t.svg")
    assert not (tmp_path / "aim").exists()
    assert_refused(alys("convert", "-f", "no-such-format", trace), "no-such-format")
    assert_refused(alys("convert", trace, trace), "t.alys")
    assert trace.read_bytes() == recorded


# --- traces ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("content", [b"", b"\x89", b"ELF or text, but no trace\n" * 100, bytes(100000)],
                         ids=["empty", "one-byte", "foreign", "zeros"])
@pytest.mark.parametrize("verb", ["info", "convert"])
def test_what_is_no_trace(tmp_path, content, verb):
    trace = tmp_path / "t.alys"
    trace.write_bytes(content)
    assert_refused(alys(verb, trace), "t.alys")
    assert [f.name for f in tmp_path.iterdir()] == ["t.alys"]


@pytest.mark.parametrize("verb", ["info", "convert"])
def test_trace_that_is_not_there(tmp_path, verb):
    assert_refused(alys(verb, tmp_path / "t.alys"), "t.alys", "No such file")
    assert_refused(alys(verb, tmp_path), str(tmp_path))


@pytest.mark.bpf
def test_executable_is_no_trace(tmp_path):
    assert_refused(alys("info", ALYS), str(ALYS))


@pytest.mark.bpf
@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.9, 0.999])
def test_truncated_trace_is_read_to_the_cut(recorded, tmp_path, share):
    trace = tmp_path / "t.alys"
    trace.write_bytes(recorded[:max(1, int(len(recorded) * share))])
    done = alys("convert", "-f", "json", trace)
    if done.returncode:
        assert share < 0.01
        assert_refused(done, "t.alys")
        return
    assert MESSAGE.search(done.stderr), "not a word of the damage"
    assert alys("info", "--strict", trace).returncode > 0
    assert "the ledger is the last that the recording wrote" in alys("info", trace).stdout
    list(each_event(tmp_path / "t.alys.json"))


@pytest.mark.bpf
def test_damaged_trace_is_read_around_the_damage(recorded, tmp_path):
    """One byte of every eighth of the file, one at a time."""
    for part in range(1, 8):
        trace = tmp_path / f"{part}.alys"
        bad = bytearray(recorded)
        bad[len(bad) * part // 8] ^= 0x40
        trace.write_bytes(bad)
        done = alys("convert", "-f", "json", trace)
        assert done.returncode == 0, done.stderr
        assert re.search(r"damage|skipped|bad", done.stderr), done.stderr
        list(each_event(tmp_path / f"{part}.alys.json"))


@pytest.mark.bpf
def test_good_trace_has_its_ledger(recorded, tmp_path):
    trace = tmp_path / "t.alys"
    trace.write_bytes(recorded)
    assert_law(trace)
    assert ledger(trace).rows["hits-alloc"] > 0


# --- command lines ---------------------------------------------------------------------------------

@pytest.mark.parametrize("line, words", [
    ("--no-such-option", ["--no-such-option", "--help"]),
    ("-Z", ["-Z", "--help"]),
    ("-p", ["-p", "--help"]),
    ("-p x", ["-p", "\"x\""]),
    ("-p 0", ["-p"]),
    ("-p -5", ["-p"]),
    ("-p 99999999999", ["-p"]),
    ("-p 1 --sample bytes:0", ["--sample", "bytes:0", "bytes:512k"]),
    ("-p 1 --sample 512k", ["--sample", "bytes:"]),
    ("-p 1 --sample bytes:-1", ["--sample"]),
    ("-p 1 --sample bytes:9999999999999999999999", ["--sample"]),
    ("-p 1 -d 0", ["--duration"]),
    ("-p 1 -d soon", ["--duration", "soon"]),
    ("-p 1 --backtrace deep", ["--backtrace", "none", "deep"]),
    ("-p 1 --backtrace-limit 0", ["--backtrace-limit"]),
    ("-p 1 --backtrace-limit 513", ["--backtrace-limit", "to 512"]),
    ("-p 1 --min-size lots", ["--min-size", "lots"]),
    ("-p 1 --ring 5000", ["--ring", "power of two"]),
    ("-p 1 -o", ["-o"]),
    ("-d 5", ["-p", "--help"]),
    ("-p 1 -- true", ["-p", "--"]),
    ("-p 1 -f xml", ["--format", "\"xml\"", "pprof"]),
    ("-p 1 -a jemalloc,malloc", ["--allocator", "\"malloc\"", "libc,"]),
    ("top -p 1 --allocator malloc", ["--allocator", "\"malloc\""]),
    ("daemon -p 1 --allocator malloc", ["--allocator", "\"malloc\""]),
    ("convert -f xml no-such.alys", ["--format", "\"xml\"", "pprof"]),
    ("convert", ["convert"]),
    ("info", ["info"]),
    ("convert a b c d", ["convert"]),
])
def test_command_lines(line, words, tmp_path):
    assert_refused(alys(*line.split(), cwd=tmp_path), *words, status=2)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name, value", [("ALYS_SAMPLE_INTERVAL", "bytes:0"), ("ALYS_BACKTRACE_TYPE", "deep"),
                                         ("ALYS_TRACING", "socket")])
def test_environment(name, value, tmp_path):
    assert_refused(alys("-p", "1", env={**os.environ, name: value}, cwd=tmp_path), name, status=2)


