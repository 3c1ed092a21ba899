# SPDX-License-Identifier: Apache-2.0
"""Profiles and traces of the daemon: rotation, retention, full disks, exited processes."""

import os
import re
import shutil
import signal
import stat
import subprocess
import time
from pathlib import Path

import pytest

from conftest import PROGS, TIMEOUT, alys, convert, law, pprof, remove_group, started_in
from sockets import talk

pytestmark = [pytest.mark.bpf, pytest.mark.beside]


def recorded(d):
    return int(re.search(r" recorded (\d+) ", d.status()["account"]).group(1))


def await_more(d, events):
    wanted = recorded(d) + events
    d.until(lambda: recorded(d) >= wanted)


def finished(folder):
    """Names of complete files: incomplete ones begin with a dot."""
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def test_profiles_on_disk(started, daemon, tmp_path):
    program = started.program("c_busy").wait_ready().go()
    d = daemon("-p", program.pid, "--sample", "bytes:4k", "--profile-dir", tmp_path / "p", "--every", "1s", "--keep", "3")
    d.until(lambda: int(d.status()["profiles"].split()[0]) >= 6)
    d.end()  # or the next one would take a file's place while that is read
    files = list((tmp_path / "p").iterdir())
    assert 1 <= len(files) <= 3
    for path in files:
        assert re.fullmatch(rf"c_busy-{program.pid}-\d+T\d+Z-\d+-\d+\.pb\.gz", path.name), path
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert "Type:" in pprof("-top", path)
    d = daemon("-p", program.pid, "--sample", "bytes:4k", "--profile-dir", tmp_path / "p", "--every", "1h")
    await_more(d, 1)
    assert program.finish() == 0
    d.until(lambda: list((tmp_path / "p").glob("*-exit.pb.gz")))
    d.end()


def test_many_profiles_do_not_hold_up_the_ring(started, daemon, tmp_path):
    """Profiles are written a few at a time, with other work in between."""
    programs = [started.program("c_grow").wait_ready().go() for _ in range(6)]
    d = daemon(*(word for p in programs for word in ("-p", p.pid)), "--sample", "bytes:4k", "--profile-dir", tmp_path / "p",
               "--every", "1h", "--keep", "9")
    d.until(lambda: len(d.status()["table"]) == 6)
    time.sleep(0.5)
    d.ctl("rotate")
    d.until(lambda: d.status()["profiles"].startswith("6 written"))
    # Names are known by now. Both requests are pending when the daemon looks, and are answered one after the other.
    first, second = talk(d.socket), talk(d.socket)
    collector = d.collector()
    os.kill(collector, signal.SIGSTOP)
    try:
        first.send(b"A\x01rotate\0")
        second.send(b"A\x01status\0")
    finally:
        os.kill(collector, signal.SIGCONT)
    assert b"being written" in first.recv(65536)
    assert re.search(rb"^names +6 profiles wait", second.recv(65536), re.M)
    d.until(lambda: d.status()["profiles"].startswith("12 written, 0 failed, 3 old ones removed"))
    assert len(list((tmp_path / "p").iterdir())) == 9
    d.end()


def test_profiles_of_one_second_are_all_kept(started, daemon, tmp_path):
    """Each profile holds the allocations since the previous one, so none may overwrite another."""
    program = started.program("c_busy").wait_ready().go()
    d = daemon("-p", program.pid, "--sample", "bytes:4k", "--profile-dir", tmp_path / "p", "--every", "1h")
    await_more(d, 1)
    for _ in range(4):
        d.ctl("rotate")
    d.until(lambda: d.status()["profiles"].startswith("4 written, 0 failed"))
    assert len(list((tmp_path / "p").glob("*.pb.gz"))) == 4
    d.end()


def put_profile(folder, stamp, age, size=100, name="old-7-{}-1-1.pb.gz"):
    """A file as left by an earlier daemon."""
    path = folder / name.format(stamp)
    path.write_bytes(b"x" * size)
    path.chmod(0o666)
    os.utime(path, (time.time() - age,) * 2)
    return path


@pytest.mark.parametrize("limit,kept", [(("--keep-age", "1h"), 2), (("--keep-size", "250k"), 2), (("--keep", "3"), 2)])
def test_old_profiles_go(started, daemon, tmp_path, limit, kept):
    """Retention by age, size and number includes files of earlier daemons, but no foreign files."""
    folder = tmp_path / "p"
    folder.mkdir()
    folder.chmod(0o777)
    ages = (600, 1200, 7200, 9000)
    ours = [put_profile(folder, f"20260101T00000{i}Z", age, 100_000) for i, age in enumerate(ages)]
    half = put_profile(folder, "20260101T000009Z", 99999, name=".old-7-{}-1-1.pb.gz.4711.tmp")
    others = [put_profile(folder, "", 99999, name=name) for name in ("mine.pb.gz", "heap-20260101.pb.gz", "notes.txt", ".rc", "a.alys")]
    program = started.program("c_busy").wait_ready().go()
    d = daemon("-p", program.pid, "--sample", "bytes:4k", "--profile-dir", folder, "--every", "1h", *limit)
    await_more(d, 1)
    d.ctl("rotate")
    d.until(lambda: re.match(r"1 written, 0 failed, 3 old", d.status()["profiles"]))
    assert [path.exists() for path in ours] == [i < kept for i in range(len(ours))]
    assert all(path.exists() for path in others) and not half.exists()
    assert len(list(folder.glob("c_busy-*.pb.gz"))) == 1
    d.end()


def test_old_traces_go(started, daemon, tmp_path):
    folder = tmp_path / "p"
    folder.mkdir()
    folder.chmod(0o777)
    old = put_profile(folder, "20260101T000000Z", 7200, name="{}-7-1.alys")
    others = [put_profile(folder, "", 7200, name=name) for name in ("server.alys", "old-7-20260101T000000Z-1-1.pb.gz")]
    program = started.program("c_busy").wait_ready().go()
    d = daemon("-p", program.pid, "--sample", "bytes:4k", "--profile-dir", folder, "--profile-format", "alys", "--every", "1h",
               "--keep-age", "1h")
    await_more(d, 1)
    d.ctl("rotate")
    d.until(lambda: "1 old ones removed" in d.status()["profiles"])
    d.end()
    assert not old.exists() and all(path.exists() for path in others)


def test_last_profiles_do_not_pile_up(started, daemon, tmp_path):
    """With many short-lived processes, retention limits also hold between intervals."""
    program, folder = tmp_path / "c_leaver", tmp_path / "p"
    shutil.copy(PROGS / "c_grow", program)
    d = daemon("--exe", program, "--follow", "--sample", "bytes:1k", "--profile-dir", folder, "--every", "1h", "--keep", "5")
    for _ in range(4):
        programs = [started.program(program).wait_ready() for _ in range(30)]
        d.until(lambda: d.traced() == len(programs))
        for p in programs:
            p.go()
        d.until(lambda: {p.pid for p in programs} <= set(d.status()["table"]))
        time.sleep(1)  # who lives shorter leaves no profile
        assert [p.finish() for p in programs] == [0] * len(programs)
        d.until(lambda: d.traced() == 0)
    d.until(lambda: not re.search(r" 0 old ones removed", d.status()["profiles"]))
    assert len(list(folder.iterdir())) < 110
    d.end()
    assert len(list(folder.iterdir())) == 5


def told_by_file(path, may_be_short=False):
    """The bytes in a trace, after checking that its ledger adds up and that its stacks have names."""
    info = alys("info", path)
    assert info.returncode == 0, info.stderr
    text = info.stdout
    assert "damaged" not in text + info.stderr and "unclean end" not in text + info.stderr, text
    under_way = re.search(r"under-way +(\d+)  ", text)
    assert not under_way or int(under_way.group(1)) < 1000, text
    told = re.search(r"ledger +hits (\d+) = recorded (\d+) \+ skipped (\d+).* \+ lost (\d+)", text)
    hits, recorded, skipped, lost = map(int, told.groups())
    assert hits == recorded + skipped + lost, text
    assert recorded == int(re.search(r"^events +(\d+) ", text, re.M).group(1)), text
    report = alys("report", "--show", "alloc", path)
    short = may_be_short and "no allocation in the trace" in report.stderr
    assert short or (report.returncode == 0 and "c_busy.c:" in report.stdout), report.stdout + report.stderr
    return recorded


def test_traces_on_disk(started, daemon, tmp_path):
    program = started.program("c_busy").wait_ready().go()
    d = daemon("-p", program.pid, "--sample", "bytes:4k", "--profile-dir", tmp_path / "p", "--profile-format", "alys", "--every", "1h")
    for n in (1, 2):
        await_more(d, 100)
        d.ctl("sample", f"bytes:{8 * n}k")
        assert d.ctl("rotate") == b"files are being written\n"
        d.until(lambda: d.status()["profiles"].startswith(f"{n} written, 0 failed"))
    await_more(d, 100)
    d.ctl("off")
    whole = re.search(r"hits (\d+) = recorded (\d+) .* lost (\d+)", d.status()["account"]).groups()
    d.end()
    files = sorted((tmp_path / "p").iterdir())
    assert len(files) == 3
    for path in files:
        assert re.fullmatch(r"\d+T\d+Z-\d+-\d\.alys", path.name), path
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for path, begun, changed in zip(files, ("4096", "8192", "16384"), ("8192", "16384", None)):
        told = alys("info", path).stdout
        assert re.search(rf"^sample +bytes:{begun}$", told, re.M) and re.findall(r"^rate +bytes:(\d+) from", told, re.M) == [changed][:bool(changed)]
    parts = [told_by_file(path) for path in files]
    assert all(recorded > 10 for recorded in parts), parts
    assert sum(parts) == int(whole[1]), (parts, whole)
    assert program.finish() == 0


def in_use(path):
    """{function: bytes} in use at the end of a profile or trace, and those allocated in it."""
    if path.suffix == ".alys":
        done = alys("convert", "-f", "pprof", path, path.with_suffix(".pb.gz"))
        assert done.returncode == 0, done.stderr
        path = path.with_suffix(".pb.gz")
    top = lambda index: {name: float(n) for n, name in re.findall(
        r"^ +([\d.]+)B? +\S+% +\S+% +\S+ +\S+% +(\S+)",
        pprof("-top", "-nodecount=0", "-nodefraction=0", f"-sample_index={index}", "-unit=B", path), re.M)}
    return top("inuse_space"), top("alloc_space")


def test_traces_carry_over_what_lives(started, daemon, tmp_path):
    """Blocks from earlier files that are still live are in use in later files, but not allocated in them."""
    program = started.program("c_grow").wait_ready().go()
    d = daemon("-p", program.pid, "--sample", "bytes:1", "--profile-dir", tmp_path / "p", "--profile-format", "alys", "--every", "1h")
    whole = lambda: float(re.search(rf"^ +{program.pid}  c_grow +([\d.]+) [KM]iB", d.ctl("status").decode(), re.M).group(1))
    d.until(lambda: re.search(rf"^ +{program.pid}  c_grow +[\d.]+ [KM]iB", d.ctl("status").decode(), re.M) and whole() > 0)
    for n in range(1, 4):
        time.sleep(0.7)
        d.ctl("rotate")
        d.until(lambda: int(d.status()["profiles"].split()[0]) >= n)
    d.ctl("off")
    snapshot = tmp_path / "whole.pb.gz"
    snapshot.write_bytes(d.ctl("snapshot", program.pid))
    d.end()
    files = sorted((tmp_path / "p").glob("*.alys"), key=lambda p: int(p.stem.rsplit("-", 1)[1]))
    live, _ = in_use(snapshot)
    assert live["site_grow_fast"] > 100 << 10, live
    last, made = in_use(files[-1])
    for site in ("site_grow_fast", "site_grow_slow"):
        assert abs(last[site] - live[site]) <= live[site] / 1000, (last, live)
        assert made.get(site, 0) < live[site] / 2, (made, live)
    assert re.search(r"^carried over \d+ blocks", alys("info", files[-1]).stdout, re.M)
    assert "carried over" not in alys("info", files[0]).stdout
    assert "site_grow_fast" in alys("diff", files[1], files[-1]).stdout
    assert program.finish() == 0


# A process of an Erlang VM that has a name from its start, and fills its heap again and again.
NAMED = 'F = fun F() -> lists:seq(1, 5000), timer:sleep(5), F() end, register(busy_one, spawn(F)), io:put_chars("ready\\n").'


def test_traces_carry_over_names(started, daemon, group, tmp_path):
    """What an Erlang process is called is told once, and is in each later file, also after many processes have ended."""
    started_in(group, started, shutil.which("erl"), "-noshell", "-eval", NAMED).wait_ready()
    started_in(group, started, "/bin/sh", "-c", "while :; do sleep 0.02; done")
    d = daemon("--cgroup", group, "--allocator", "beam", "--sample", "bytes:1", "--max-overhead", "0", "--profile-dir", tmp_path / "p",
               "--profile-format", "alys", "--every", "1h")
    for n in range(1, 4):
        await_more(d, 300)
        d.ctl("rotate")
        d.until(lambda: int(d.status()["profiles"].split()[0]) >= n)
    d.end()
    files = sorted((tmp_path / "p").glob("*.alys"), key=lambda p: int(p.stem.rsplit("-", 1)[1]))
    assert len(files) == 4
    for path in files[:3]:
        assert " busy_one " in alys("report", "--by", "erlang-process", "--show", "alloc", path).stdout, path


def test_traces_are_rotated(started, daemon, tmp_path):
    program = started.program("c_busy").wait_ready().go()
    d = daemon("-p", program.pid, "--sample", "bytes:4k", "--profile-dir", tmp_path / "p", "--profile-format", "alys",
               "--every", "0.3s", "--keep", "3")
    d.until(lambda: int(d.status()["profiles"].split()[0]) >= 5)
    d.end()
    files = list((tmp_path / "p").iterdir())
    assert 2 <= len(files) <= 3, files
    # Within 0.3 s the program may not have allocated, and the last file covers less.
    assert any(recorded > 10 for recorded in [told_by_file(path, may_be_short=True) for path in files])
    assert program.finish() == 0


def test_trace_of_many_short_lived(daemon, group, tmp_path):
    """Processes that exited long before their file ends."""
    d = daemon("--cgroup", group, "--sample", "bytes:64", "--profile-dir", tmp_path / "p", "--profile-format", "alys", "--every", "1h")
    join = f"echo $$ > {group}/cgroup.procs; "
    first = subprocess.Popen(["sh", "-c", join + "while :; do ls -R /usr; done"], stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        await_more(d, 1000)
    finally:
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
    # A locale that does not exist, which glibc looks for at each start.
    subprocess.run(["sh", "-c", join + "n=0; while [ $n -lt 80 ]; do sleep 0.1; n=$((n+1)); done"], timeout=10 * TIMEOUT, check=True,
                   env={**os.environ, "LC_ALL": "xx_YY.UTF-8"})
    d.until(lambda: d.traced() == 0)
    # Then there is time to resolve names; when the daemon ends there is a second.
    d.ctl("rotate")
    d.until(lambda: d.status()["profiles"].startswith("1 written"))
    d.end()
    path = sorted((tmp_path / "p").iterdir())[0]
    report = alys("report", "--show", "alloc", path).stdout
    assert "alloc_dir" in report, "what only the first of them called has its name"
    assert "_nl_make_l10nflist" in report
    text = alys("info", path).stdout
    assert len(re.findall(r"^process +\d+ sleep ", text, re.M)) > 40, text


def test_trace_of_a_storm(started, daemon, group, tmp_path):
    """With a hundred processes exiting at once, each call is in the file or counted as lost."""
    short, calls = 100, 500
    program = started_in(group, started, "c_storm", PROGS / "lib_plugin.so", short).wait_ready()
    d = daemon("--cgroup", group, "--sample", "bytes:1", "--profile-dir", tmp_path / "p", "--profile-format", "alys", "--every", "1h")
    program.go()
    told = [program.line() for _ in range(12 + 1)]
    assert sum(line.startswith("child ") for line in told) == 12 and "all" in told
    d.ctl("off")
    hits, _, _, lost = law(d)
    d.ctl("rotate")  # names have time then
    d.until(lambda: d.status()["profiles"].startswith("1 written, 0 failed"))
    d.end()
    path = min((tmp_path / "p").iterdir())
    profile = convert(path, "pprof", tmp_path / "storm.pb.gz")
    counted = pprof("-top", "-nodecount=0", "-nodefraction=0", "-sample_index=alloc_objects", profile)
    made = int(re.search(r"^ +(\d+) .* site_storm$", counted, re.M).group(1))
    truth = (short + 12) * calls
    assert 0 <= truth - made <= lost and hits >= truth, (truth, made, hits, lost)
    assert program.finish() == 0


def test_files_change_nowhere_else(daemon, tmp_path):
    """The unit test checks the sandbox itself; here it is active, and traces are still written."""
    program = subprocess.Popen(["sleep", "1000"])
    try:
        d = daemon("-p", program.pid, "--profile-dir", tmp_path / "p", "--profile-format", "alys", "--every", "1h")
        told = d.status()["rights"]
        if "no landlock" in told:
            pytest.skip("this kernel has no landlock")
        assert told == "none; files change in --profile-dir only (landlock)"
        status = Path(f"/proc/{d.collector()}/status").read_text()
        assert "NoNewPrivs:\t1" in status
        assert len(list((tmp_path / "p").iterdir())) == 1
        d.end()
    finally:
        program.kill()
        program.wait()


def events_in(path):
    info = alys("info", path)
    assert info.returncode == 0, info.stderr
    return int(re.search(r"^events +(\d+) ", info.stdout, re.M).group(1))


def test_full_disk_of_traces(started, daemon, tmp_path):
    """Every event counted as recorded is in the files, even if a disk was full."""
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", small], check=True)
    small.chmod(0o777)
    try:
        program = started.program("c_busy").wait_ready().go()
        (small / "filler").write_bytes(b"x" * (7968 << 10))
        d = daemon("-p", program.pid, "--sample", "bytes:4k", "--profile-dir", small, "--profile-format", "alys", "--every", "0.3s",
                   "--keep", "0")
        d.until(lambda: "No space left" in d.status()["profiles"])
        d.until(lambda: "disk-full" in d.status()["account"])
        (small / "filler").unlink()
        written = int(d.status()["profiles"].split()[0])
        d.until(lambda: int(d.status()["profiles"].split()[0]) > written)
        d.ctl("off")
        _, recorded, _, lost = law(d)
        d.end()
        assert program.finish() == 0
        files = list(small.iterdir())
        assert len(files) > 2
        kept = sum(events_in(path) for path in files)
        assert kept == recorded and lost > 0, (kept, recorded, lost)
    finally:
        subprocess.run(["umount", "-l", small], check=False)


def test_full_disk(started, daemon, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "none", small], check=True)
    small.chmod(0o777)
    try:
        program = started.program("c_busy").wait_ready().go()
        (small / "filler").write_bytes(b"x" * 12288)
        d = daemon("-p", program.pid, "--sample", "bytes:4k", "--profile-dir", small, "--every", "0.3s")
        d.until(lambda: "No space left" in d.status()["profiles"])
        assert d.log().count("No space left") == 1, "said once, counted then"
        (small / "filler").unlink()
        before = set(finished(small))
        written = int(d.status()["profiles"].split()[0])
        d.until(lambda: int(d.status()["profiles"].split()[0]) > written)
        d.end()
        assert finished(small) == sorted(small.iterdir())
        assert before <= set(finished(small))
        assert all("Type:" in pprof("-top", path) for path in finished(small))
    finally:
        subprocess.run(["umount", "-l", small], check=False)


@pytest.fixture
def starving():
    """A program that on request allocates more memory than its control group has."""
    limit = next((p for p in (Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")) if (p / "cgroup.procs").exists()), None)
    group = limit / f"alys-oom-{os.getpid()}" if limit else None
    try:
        group.mkdir()
        knob = group / ("memory.limit_in_bytes" if (group / "memory.limit_in_bytes").exists() else "memory.max")
        knob.write_text("60000000")
        # Without this, memory would be swapped out instead of running out.
        for name, value in (("memory.swap.max", "0"), ("memory.memsw.limit_in_bytes", "60000000")):
            if (group / name).exists():
                (group / name).write_text(value)
    except (OSError, AttributeError):
        if group and group.exists():
            group.rmdir()
        pytest.skip("no memory control group can be made here")
    eater = "import sys, time\nsys.stdin.readline()\nkept = []\nwhile True:\n    kept.append(b'x' * 1000000)\n    time.sleep(0.01)\n"
    victim = subprocess.Popen(["/usr/bin/python3", "-c", eater], stdin=subprocess.PIPE)

    def die():
        victim.stdin.write(b"go\n")
        victim.stdin.flush()
        assert victim.wait(TIMEOUT) == -signal.SIGKILL

    victim.die = die
    try:
        (group / "cgroup.procs").write_text(str(victim.pid))
        yield victim
    finally:
        victim.kill()
        victim.wait()
        remove_group(group)


def test_out_of_memory(daemon, tmp_path, starving):
    """The last profile of an OOM-killed process, with the cause in its name and contents."""
    d = daemon("-p", starving.pid, "--profile-dir", tmp_path / "p", "--every", "1h")
    starving.die()
    d.until(lambda: list((tmp_path / "p").glob("*-out-of-memory.pb.gz")))
    (path,) = (tmp_path / "p").glob("*-out-of-memory.pb.gz")
    text = pprof("-top", "-sample_index=inuse_space", "-unit=MB", path)
    assert float(re.search(r"of ([\d.]+)MB total", text).group(1)) > 30
    assert "last profile of the process: out-of-memory" in pprof("-comments", path)
    assert "for want of memory" in d.log()
    d.end()


@pytest.mark.parametrize("how", ["daemon", "recording"])
def test_out_of_memory_in_a_trace(started, daemon, tmp_path, starving, how):
    if how == "daemon":
        d = daemon("-p", starving.pid, "--profile-dir", tmp_path / "p", "--profile-format", "alys", "--every", "1h")
        starving.die()
        d.until(lambda: d.traced() == 0)
        d.end()
        (path,) = (tmp_path / "p").glob("*.alys")
    else:
        path = tmp_path / "t.alys"
        tracer = started.tracer("-p", starving.pid, "--sample", "bytes:512k", "-o", path).recording()
        starving.die()
        assert tracer.wait() == 0, tracer.text
    told = alys("info", path).stdout
    assert re.search(rf"^killed +{starving.pid} python3 by the kernel, for want of memory, at [\d.]+ s$", told, re.M), told
