# SPDX-License-Identifier: Apache-2.0
"""Heaps are read by a process without privileges, and hostile contents harm nobody else."""
import os
import pty
import random
import re
import subprocess
from pathlib import Path

import pytest

from conftest import ALYS, PROGS, TIMEOUT, children_of
from web_driver import wait_for

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="not root: may not read other processes")

# Capabilities by their bits, capability.h.
DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, KILL, SYS_PTRACE, CHECKPOINT_RESTORE = (1 << n for n in (1, 2, 3, 5, 19, 40))
LOOKING = DAC_READ_SEARCH | KILL | SYS_PTRACE | CHECKPOINT_RESTORE


def status_of(pid):
    return dict(re.findall(r"^(\w+):[ \t]*(.*)$", Path(f"/proc/{pid}/status").read_text(), re.M))


def child_of(pid):
    found = [int(p) for task in children_of(f"/proc/{pid}/task") for p in (task / "children").read_text().split()]
    return found[0] if found else None


def has_no_rights(pid):
    s = status_of(pid)
    assert "0" not in s["Uid"].split() and "0" not in s["Gid"].split() and s["Groups"] == "", s
    assert [int(s[k], 16) for k in ("CapInh", "CapPrm", "CapEff", "CapAmb")] == [0] * 4, s
    assert (s["NoNewPrivs"], s["Seccomp"]) == ("1", "2"), s


@pytest.fixture
def crystal(started):
    program = started.program("graph.debug")
    while program.line() != "ready":
        pass
    return program


@pytest.mark.parametrize("args,rights", [
    (["census"], LOOKING),
    (["graph", "--show", "counts"], LOOKING),
    (["graph", "--freeze", "--show", "counts"], LOOKING),
    (["dump", "-o", "heap.alys"], LOOKING | DAC_OVERRIDE | FOWNER),
], ids=lambda a: " ".join(a) if isinstance(a, list) else "")
def test_who_reads_a_heap_has_no_rights(crystal, tmp_path, args, rights):
    """The list of types comes through a pipe that blocks the reader after its first read of the process' memory."""
    pipe = tmp_path / "types"
    os.mkfifo(pipe)
    verb = subprocess.Popen([ALYS, *args, "-p", str(crystal.pid), "--type-ids", pipe], cwd=tmp_path, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)
    try:
        with open(pipe, "w") as types:
            assert wait_for(lambda: child_of(verb.pid) and status_of(child_of(verb.pid))["Seccomp"] == "2")
            wait_for(lambda: "pipe_read" in Path(f"/proc/{child_of(verb.pid)}/wchan").read_text())
            has_no_rights(child_of(verb.pid))
            broker = status_of(verb.pid)
            assert int(broker["CapEff"], 16) | int(broker["CapPrm"], 16) | rights == rights, broker
            assert (broker["NoNewPrivs"], broker["Seccomp"]) == ("1", "2"), broker
            types.write(Path(f"{PROGS / 'graph.debug'}.types").read_text())
        out, err = verb.communicate(timeout=TIMEOUT)
    finally:
        verb.kill()
        verb.communicate()
    assert verb.returncode == 0 and ("A" in out or "live objects" in err), err


def test_accounts_of_a_heap(crystal):
    """`report --heap` has no privileges while it waits for a collection that does not come."""
    verb = subprocess.Popen([ALYS, "census", "--heap", "--gc-wait", "600", "-p", str(crystal.pid)], stdout=subprocess.PIPE, text=True)
    try:
        assert wait_for(lambda: child_of(verb.pid) and status_of(child_of(verb.pid))["Seccomp"] == "2")
        has_no_rights(child_of(verb.pid))
        os.kill(child_of(verb.pid), 9)
        assert verb.wait(TIMEOUT) == 1
    finally:
        verb.kill()
        verb.communicate()


def readers_of(pid):
    """The two processes that read heaps for a recording. Those that prove layouts are short-lived children of another thread."""
    def names():
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            try:
                yield int(child), Path(f"/proc/{child}/comm").read_text()
            except OSError:
                pass  # it has ended
    found = [child for child, name in names() if name == "alys-heapreader\n"]
    return found if len(found) == 2 else None


def is_confined(pid):
    return status_of(pid)["Seccomp"] == "2"


def recording(verb, pid):
    """A recording in a terminal, which top needs."""
    terminal, other = pty.openpty()
    try:
        return subprocess.Popen([ALYS, *verb, "-p", str(pid)], stdin=other, stdout=other, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, "TERM": "xterm"}), terminal
    finally:
        os.close(other)


RECORDINGS = [["record", "-o", "t.alys"], ["record", "--sample", "bytes:1M", "-o", "t.alys"], ["report", "-d", "600"],
              ["report", "--heap", "-d", "600"], ["report", "--live", "--gc-wait", "600"], ["top"]]


@pytest.mark.bpf
@pytest.mark.beside
@pytest.mark.parametrize("verb", RECORDINGS, ids=" ".join)
def test_who_reads_for_a_recording_has_no_rights(started, tmp_path, monkeypatch, verb):
    monkeypatch.chdir(tmp_path)
    program = started.program("c_gclive", "8000").wait_ready()
    tracer, terminal = recording(verb, program.pid)
    try:
        readers = wait_for(lambda: readers_of(tracer.pid))
        assert wait_for(lambda: all(map(is_confined, readers)))
        for pid in readers:
            has_no_rights(pid)
            # It holds neither probes, which would stay as long as it does, nor anybody's output.
            held = [os.readlink(fd) for fd in Path(f"/proc/{pid}/fd").iterdir()]
            assert not [h for h in held if "bpf" in h or "pts" in h or "perf" in h], held
    finally:
        tracer.kill()
        tracer.communicate()
        os.close(terminal)
    assert wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in readers)), "they end with the recording"


@pytest.mark.bpf
@pytest.mark.beside
def test_nobody_else_reads_for_a_recording(started, tmp_path):
    """Without its readers a recording knows nothing of the heap: it says so, and has everything else."""
    program = started.program("c_gclive", "8000").wait_ready()
    trace = tmp_path / "t.alys"
    tracer = started.tracer("-p", program.pid, "-o", trace).recording()
    for pid in wait_for(lambda: readers_of(tracer.proc.pid)):
        os.kill(pid, 9)
    program.go().truths()
    tracer.stop()
    said = subprocess.run([ALYS, "info", trace], capture_output=True, text=True, timeout=TIMEOUT).stdout
    assert f"the reader of the heap of process {program.pid} was ended by signal 9" in said, said
    assert program.finish() == 0


def test_a_reader_that_dies(crystal, tmp_path):
    """However reading fails: one sentence, no file, and the target continues."""
    pipe = tmp_path / "types"
    os.mkfifo(pipe)
    verb = subprocess.Popen([ALYS, "dump", "-o", "heap.alys", "-p", str(crystal.pid), "--type-ids", pipe], cwd=tmp_path,
                            stderr=subprocess.PIPE, text=True)
    with open(pipe, "w"):
        assert wait_for(lambda: child_of(verb.pid))
        os.kill(child_of(verb.pid), 11)
        _, err = verb.communicate(timeout=TIMEOUT)
    assert verb.returncode == 1
    assert err == (f"alys-bpf: the reader of process {crystal.pid}'s heap was killed by signal 11; the process itself is unaffected\n")
    assert [p.name for p in tmp_path.iterdir()] == ["types"]
    assert crystal.proc.poll() is None


@pytest.mark.parametrize("how", ["1", "2"])
@pytest.mark.parametrize("args", [["census", "--counts"], ["census", "--heap"], ["graph", "--freeze", "--show", "counts"]], ids=" ".join)
def test_where_processes_are_hidden(crystal, how, args):
    """/proc may hide processes from everybody but root, and readers are not root."""
    script = 'mount -t proc -o "hidepid=$1" proc /proc && shift && exec "$@"'
    done = subprocess.run(["unshare", "-m", "--propagation", "private", "sh", "-c", script, "-", how, ALYS, *args, "-p", str(crystal.pid)],
                          capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0 and done.stdout, done.stderr


# The program prints "end" when its heap is complete, and runs until its input is closed.
IN_A_NAMESPACE = """
mkfifo in out
"$2" <in >out & exec 8>in 9<out
until [ "$line" = end ]; do read -r line <&9 || exit 9; done
"$1" census -p $! --counts
status=$?
kill $!
exit $status
"""


def test_where_there_is_no_other_user(tmp_path):
    """Root of a user namespace without other users can read its own processes."""
    done = subprocess.run(["unshare", "-Ur", "bash", "-c", IN_A_NAMESPACE, "-", ALYS, PROGS / "c_heap"], cwd=tmp_path, capture_output=True,
                          text=True, timeout=TIMEOUT)
    assert done.returncode == 0 and done.stdout, done.stderr


def headers_of(pid):
    """Writable anonymous mappings: they hold the collector's headers, its index and its objects."""
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        at, rights, *_, last = line.split()
        start, end = (int(n, 16) for n in at.split("-"))
        if rights.startswith("rw") and last == "0" and end - start <= 64 << 20:
            yield start, end


def spoil(pid, seed):
    """Overwrites the collector's memory with words that look like addresses and sizes, in a stopped process."""
    pick = random.Random(seed)
    words = []
    for start, end in headers_of(pid):
        words += [start + pick.randrange((end - start) // 8) * 8 for _ in range((end - start) // 256)]
    values = words[:64] + [0, 1, 16, 4096, 2**31, 2**32 - 1, 2**47, 2**63, 2**64 - 1, 2**64 - 4096]
    with open(f"/proc/{pid}/mem", "r+b", 0) as memory:
        for at in words:
            memory.seek(at)
            memory.write(pick.choice(values).to_bytes(8, "little"))


@pytest.mark.parametrize("seed", range(6))
def test_a_heap_that_lies(started, tmp_path, seed):
    """A result or an error message: no crash, no incomplete file, and bounded memory."""
    program = started.program("c_heap")
    while program.line() != "end":
        pass
    os.kill(program.pid, 19)
    spoil(program.pid, seed)
    for args in (["census"], ["census", "--heap"], ["graph", "--show", "counts"], ["dump", "-o", tmp_path / f"{seed}.alys"]):
        done = subprocess.run(["prlimit", "--cpu=60", ALYS, *map(str, args), "-p", str(program.pid)], capture_output=True, text=True,
                              timeout=TIMEOUT)
        assert done.returncode in (0, 1, 3), done
        assert "killed by signal" not in done.stderr, done.stderr
        assert done.returncode == 0 or len(done.stderr.splitlines()) == 1, done.stderr
    assert program.proc.poll() is None
    assert {p.suffix for p in tmp_path.iterdir()} <= {".alys"}
