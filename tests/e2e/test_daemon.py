# SPDX-License-Identifier: Apache-2.0
"""The daemon: selection (of test processes only), on and off, control, limits, crashes."""

import gzip
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from conftest import (ALYS, NOBODY, PROGS, RIGHTS, TIMEOUT, Daemon, alys, changed_text, family, fdinfo, has_ended, law, leftovers,
                      pprof, probe_programs, started_in)
from sockets import free_port, talk
from web_driver import wait_for

pytestmark = pytest.mark.bpf

CAP_SYS_ADMIN, CAP_BPF = 21, 39


# --- switching -------------------------------------------------------------------------------------

def test_on_and_off(started, daemon):
    """`off` leaves no probe, `on` returns with all attached, and the program is not disturbed."""
    before = probe_programs()
    program = started.program("c_busy").wait_ready().go()
    d = daemon("--off", "-p", program.pid, "--sample", "bytes:16k")
    assert changed_text(program.pid) == {}
    for _ in range(3):
        d.ctl("on")
        assert changed_text(program.pid)
        d.until(lambda: program.pid in d.status()["table"])
        d.ctl("off")
        assert changed_text(program.pid) == {}
        assert " 0 links" in d.status()["probes"]
        assert not [text for pid in (d.proc.pid, d.collector()) for text in fdinfo(pid) if "link_id" in text]
    assert program.pid in d.status()["table"], "what was known stays readable"
    d.end()
    assert program.finish() == 0
    assert not leftovers(before)


def test_every_verb(started, daemon, tmp_path):
    program, other = (started.program("c_busy").wait_ready().go() for _ in range(2))
    d = daemon("-p", program.pid, "--sample", "bytes:4k", "--profile-dir", tmp_path / "p", "--every", "1h")
    d.until(lambda: program.pid in d.status()["table"])
    assert d.traced() == 1
    d.ctl("add", other.pid)
    assert d.traced() == 2
    d.until(lambda: other.pid in d.status()["table"])
    d.ctl("remove", other.pid)
    assert d.traced() == 1 and changed_text(other.pid) == {}
    d.ctl("sample", "bytes:64k")
    assert "every 65536 bytes" in d.status()["tracing"]
    (tmp_path / "now.pb.gz").write_bytes(d.ctl("snapshot", program.pid))
    assert "one per 65536 bytes on average" in pprof("-comments", tmp_path / "now.pb.gz")
    assert gzip.decompress(d.ctl("snapshot", program.pid))
    assert b"<html" in d.ctl("snapshot", program.pid, "html").lower()
    assert gzip.decompress(d.ctl("snapshot"))
    d.ctl("rotate")
    d.until(lambda: len(list((tmp_path / "p").glob("*.pb.gz"))) == 2)
    assert len(list((tmp_path / "p").glob("*-left.pb.gz"))) == 1
    d.ctl("off")
    assert law(d)[0] > 0
    d.ctl("stop")
    assert d.proc.wait(TIMEOUT) == 0


@pytest.mark.parametrize("words", [["add"], ["add", "x"], ["add", "0"], ["sample", "512k"], ["sample", "bytes:0"],
                                   ["remove", "1", "2"], ["fly"], ["snapshot", "all", "../x"]])
def test_wrong_words(daemon, words):
    d = daemon("--off")
    done = d.run(*words)
    assert done.returncode == 2 and done.stderr.count(b"\n") == 1, done.stderr
    assert d.status()["tracing"].startswith("off")


def test_nobody_there(tmp_path):
    done = alys("ctl", "--socket", tmp_path / "none", "status")
    assert done.returncode == 3 and "alys-bpf daemon" in done.stderr
    d_none = alys("daemon", "--socket", tmp_path / "s")
    assert d_none.returncode == 2 and "--all" in d_none.stderr
    done = alys("daemon", "--socket", tmp_path / "s", "-p", "999999999")
    assert done.returncode == 3 and "no process 999999999" in done.stderr and not (tmp_path / "s").exists()
    done = alys("daemon", "--socket", tmp_path / "s", "--user", "nobody-of-this-name")
    assert done.returncode != 0 and "no such user" in done.stderr


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_quickly(started, daemon, tmp_path, signum):
    program = started.program("c_busy").wait_ready().go()
    d = daemon("-p", program.pid, "--sample", "bytes:4k", "--profile-dir", tmp_path / "p", "--every", "1h")
    d.until(lambda: program.pid in d.status()["table"])
    d.end(signum)
    assert not d.socket.exists()
    assert len(list((tmp_path / "p").glob("*.pb.gz"))) == 1, "the last profile is written"
    assert program.finish() == 0


def test_reload(started, daemon, tmp_path):
    program = started.program("c_busy").wait_ready().go()
    config = tmp_path / "conf"
    config.write_text(f"# a remark\npid {program.pid}\nsample = bytes:64k\n")
    d = daemon("--config", config)
    assert "every 65536 bytes" in d.status()["tracing"]
    config.write_text(f"pid {program.pid}\nsample bytes:32k\n")
    d.proc.send_signal(signal.SIGHUP)
    d.until(lambda: "every 32768 bytes" in d.status()["tracing"])
    config.write_text("nonsense 1\n")
    d.proc.send_signal(signal.SIGHUP)
    d.until(lambda: "nonsense" in d.log())
    assert "every 32768 bytes" in d.status()["tracing"]
    d.until(lambda: program.pid in d.status()["table"])
    d.end()


# --- who is traced ---------------------------------------------------------------------------------

def test_by_name_and_path(started, daemon, tmp_path):
    """Existing and new processes that match are traced, no others."""
    copy = tmp_path / "c_chosen"
    shutil.copy(PROGS / "c_busy", copy)
    first = started.program(str(copy)).wait_ready().go()
    other = started.program("c_busy").wait_ready().go()
    for args in (["--name", "c_chosen"], ["--exe", str(tmp_path) + "/c_*"], ["--exe", "c_chos??"]):
        d = daemon(*args, "--sample", "bytes:4k")
        second = started.program(str(copy)).wait_ready()
        d.until(lambda: d.traced() == 2)
        second.go()
        d.until(lambda: {first.pid, second.pid} <= set(d.status()["table"]))
        assert other.pid not in d.status()["table"] and changed_text(other.pid) == {}
        second.kill()
        d.until(lambda: d.traced() == 1)
        d.end()


def test_by_user(started, daemon, tmp_path):
    copy = Path("/tmp") / f"alys-busy-{os.getpid()}"
    shutil.copy(PROGS / "c_busy", copy)
    try:
        theirs = subprocess.Popen(["setpriv", "--reuid", "12345", "--regid", "12345", "--clear-groups", copy],
                                  env={**os.environ, "ALYS_NO_WAIT": "1"}, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        d = daemon("--user", "12345", "--sample", "bytes:4k")
        d.until(lambda: set(d.status()["table"]) == {theirs.pid})
        theirs.kill()
        theirs.wait()
        d.end()
    finally:
        copy.unlink()


def test_other_namespaces(started, daemon, tmp_path):
    """A program in its own mount and PID namespaces, on a file system that only it sees."""
    script = ("mount -t tmpfs none /mnt && cp %s /mnt/c_inner && umount -l /proc; mount -t proc proc /proc;"
              "exec /mnt/c_inner" % (PROGS / "c_busy"))
    program = started.program("/usr/bin/unshare", "--mount", "--pid", "--fork", "sh", "-c", script)
    program.wait_ready().go()
    d = daemon("--name", "c_inner", "--sample", "bytes:4k")
    d.until(lambda: len(d.status()["table"]) == 1)
    (pid,) = d.status()["table"]
    assert os.readlink(f"/proc/{pid}/exe") == "/mnt/c_inner"
    d.until(lambda: any("site" in (name or "") or "main" in (name or "") for name in d.top(pid)))
    d.end()


@pytest.mark.parametrize("how_chosen", ["cgroup", "follow"])
def test_storm(started, daemon, group, how_chosen):
    """With fork, exec, dlopen and short-lived processes, every block is counted exactly once."""
    short = 40
    program = started_in(group, started, "c_storm", PROGS / "lib_plugin.so", short).wait_ready()
    chosen = {"cgroup": ("--cgroup", group), "follow": ("--exe", PROGS / "c_storm", "--follow")}[how_chosen]
    d = daemon(*chosen, "--sample", "bytes:1")
    program.go()
    children = {}
    while (line := program.line()) != "all":
        _, how, pid = line.split()
        children[int(pid)] = how
    while len(children) < 12:
        _, how, pid = program.line().split()
        children[int(pid)] = how
    d.until(lambda: set(children) <= set(d.status()["table"]))
    for pid, how in children.items():
        objects, sizes = d.top(pid)[None], d.top(pid, "alloc_space")[None]
        assert 500 <= objects <= 560, (how, objects)
        assert 500 * 4321 <= sizes <= 500 * 4321 + 200000, (how, sizes)
        live = d.top(pid, "inuse_objects")[None]
        assert 500 <= live <= 560, (how, live)
    d.ctl("off")
    law(d)
    d.end()
    assert program.finish() == 0


def test_group_that_comes_later(started, daemon, group):
    """One that was mistyped does not wait in silence; one that is there is found, as it is written in either way."""
    hierarchy = group.parent
    group.rmdir()
    d = daemon("--cgroup", group, "--sample", "bytes:64")
    assert f"--cgroup {group}: there is no such group now" in d.log()
    group.mkdir()
    started_in(group, started, "c_busy").wait_ready()
    d.until(lambda: d.traced() == 1)
    d.end()
    for written in (group, f"/{group.relative_to(hierarchy)}"):
        again = daemon("--cgroup", written, "--sample", "bytes:64")
        assert "no such group" not in again.log()
        again.end()


def test_a_thousand_short_lived(daemon, group):
    d = daemon("--cgroup", group, "--sample", "bytes:64")
    collector = d.collector()
    memory = int(Path(f"/proc/{collector}/statm").read_text().split()[1])
    fds = len(os.listdir(f"/proc/{collector}/fd"))
    done = subprocess.run(["sh", "-c", f"echo $$ > {group}/cgroup.procs; n=0; while [ $n -lt 1000 ]; do /bin/true || exit 9; "
                           "n=$((n+1)); done"], timeout=10 * TIMEOUT)
    assert done.returncode == 0
    d.until(lambda: d.traced() == 0)
    d.until(lambda: len(os.listdir(f"/proc/{collector}/fd")) < fds + 150)
    assert law(d)[0] > 1000
    assert int(Path(f"/proc/{collector}/statm").read_text().split()[1]) < memory + 40 * 256
    d.end()


# --- who may ask -----------------------------------------------------------------------------------

def test_strangers(started, daemon, public):
    copy, ctl = public(PROGS / "c_busy"), public(ALYS)
    mine = started.program("c_busy").wait_ready().go()
    theirs = subprocess.Popen([*NOBODY, copy], env={**os.environ, "ALYS_NO_WAIT": "1"}, stdin=subprocess.PIPE,
                              stdout=subprocess.DEVNULL)
    try:
        d = daemon("-p", f"{mine.pid},{theirs.pid}", "--sample", "bytes:4k", place=public.folder)
        d.until(lambda: len(d.status()["table"]) == 2)

        def ask(*words):
            return subprocess.run([*NOBODY, ctl, "ctl", "--socket", d.socket, *map(str, words)], capture_output=True,
                                  timeout=TIMEOUT)
        assert str(mine.pid).encode() not in ask("status").stdout
        assert str(theirs.pid).encode() in ask("status").stdout
        for words in (["off"], ["on"], ["stop"], ["sample", "bytes:1"], ["rotate"], ["snapshot"], ["snapshot", mine.pid],
                      ["remove", mine.pid], ["add", 1]):
            done = ask(*words)
            assert done.returncode == 1 and b"not allowed" in done.stderr, words
        assert gzip.decompress(ask("snapshot", theirs.pid).stdout)
        assert ask("remove", theirs.pid).returncode == 0
        assert d.traced() == 1
        d.end()
    finally:
        theirs.kill()
        theirs.wait()


def test_members_of_the_group(daemon, tmp_path, public):
    """Members of the group alys have full access; here the daemon sees its own /etc/group."""
    groups = tmp_path / "group"
    groups.write_text(re.sub(r"^alys:.*\n", "", Path("/etc/group").read_text(), flags=re.M) + "alys:x:64123:\n")
    d = daemon("--off", "-p", os.getpid(), place=public.folder,
               launcher=["unshare", "-m", "sh", "-c", f'mount --bind {groups} /etc/group && exec "$@"', "sh"])
    ctl = public(ALYS)

    def ask(group, *words):
        return subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", *group, ctl, "ctl", "--socket", d.socket, *words],
                              capture_output=True, timeout=TIMEOUT)
    done = ask(["--clear-groups"], "sample", "bytes:64k")
    assert done.returncode == 1 and b"not allowed" in done.stderr
    done = ask(["--groups", "64123"], "sample", "bytes:64k")
    assert done.returncode == 0, done.stderr
    assert ask(["--groups", "64124"], "stop").returncode == 1 and d.proc.poll() is None
    assert ask(["--groups", "64123"], "stop").returncode == 0 and d.proc.wait(TIMEOUT) == 0


@pytest.mark.parametrize("bytes_", [b"x", b"A", b"A\x01", b"A\x02status\0", b"A\x01status", b"A\x01" + b"w\0" * 9, b"\0" * 100,
                                    b"A\x01status\0" + b"y" * 60000, b"A\x01add\0-1\0", b"A\x01snapshot\0" + b"9" * 5000 + b"\0"])
def test_malformed_messages(daemon, bytes_):
    d = daemon("--off")
    with talk(d.socket) as s:
        s.send(bytes_)
        answer = s.recv(65536)
        assert answer[:2] == b"A\x01" and answer[2] == 2 and answer[-1] == 0
    assert d.status()["tracing"].startswith("off")


def test_rude_clients(daemon):
    d = daemon("--off")
    silent = [talk(d.socket) for _ in range(40)]
    for s in silent:
        s.close()
    silent = [talk(d.socket) for _ in range(16)]
    time.sleep(0.5)
    # Idle connections are closed after a while.
    d.until(lambda: d.run("status").returncode == 0)
    assert d.status()["tracing"].startswith("off")
    for s in silent:
        s.close()
    d.end()


def test_second_daemon(daemon, tmp_path):
    d = daemon("--off")
    second = alys("daemon", "--off", "--socket", d.socket)
    assert second.returncode == 1 and "another alys-bpf daemon" in second.stderr and second.stderr.count("\n") == 1
    before = probe_programs()
    d.proc.kill()
    d.proc.wait()
    assert d.socket.exists()
    d = daemon("--off")
    assert d.status()["tracing"].startswith("off")
    (tmp_path / "file").write_text("mine")
    refused = alys("daemon", "--off", "--socket", tmp_path / "file")
    assert refused.returncode == 1 and (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("who", ["broker", "collector"])
def test_kill_9(started, daemon, tmp_path, who):
    """If broker or collector is killed, the other exits, all probes go, and the next daemon starts normally."""
    before = probe_programs()
    program = started.program("c_busy").wait_ready().go()
    d = daemon("-p", program.pid, "--sample", "bytes:4k")
    collector = d.collector()
    assert collector != d.proc.pid
    assert changed_text(program.pid)
    os.kill(d.proc.pid if who == "broker" else collector, signal.SIGKILL)
    d.proc.wait(TIMEOUT)
    wait_for(lambda: has_ended(collector))
    assert not leftovers(before)
    assert changed_text(program.pid) == {}
    if who == "collector":
        assert d.proc.returncode == 1 and "was killed by signal 9" in d.log()
    else:
        assert "privileged broker exited" in d.log()
    d = daemon("-p", program.pid, "--sample", "bytes:4k")
    assert d.traced() == 1
    d.end()
    assert program.finish() == 0


def workers_of(collector):
    for pid in family(collector)[1:]:
        try:
            if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"alys-symbol-worker"):
                yield pid
        except OSError:
            continue


def kill_workers_while(asking, collector):
    """How many were killed."""
    killed, end = 0, time.monotonic() + TIMEOUT
    while asking.poll() is None and time.monotonic() < end:
        for pid in workers_of(collector):
            try:
                os.kill(pid, signal.SIGKILL)
                killed += 1
            except ProcessLookupError:
                pass
        time.sleep(0.002)
    return killed


def test_worker_killed(started, daemon, tmp_path):
    """If the symbolization worker is killed, profiles have addresses and the daemon continues."""
    server = started.server()
    killed = 0
    # A worker may have ended before it is looked for.
    for _ in range(10):
        d = daemon("-p", server.pid, "--sample", "bytes:4k")
        subprocess.run(["wrk", "-t1", "-c4", "-d1", server.url + "/"], stdout=subprocess.DEVNULL, check=True)
        collector = d.collector()
        with open(tmp_path / "profile", "wb") as profile:
            asking = subprocess.Popen([str(ALYS), "ctl", "--socket", str(d.socket), "snapshot", str(server.pid)], stdout=profile)
        killed = kill_workers_while(asking, collector)
        assert asking.wait(TIMEOUT) == 0 and gzip.decompress((tmp_path / "profile").read_bytes())
        told = d.status()
        d.end()
        if killed:
            break
    assert killed and told["tracing"].startswith("on"), told
    assert int(re.search(r", (\d+) failures of workers", told["names"]).group(1)), told


def test_the_collector_has_no_rights(daemon):
    d = daemon("--off")
    told = dict(re.findall(r"^(\w+):[ \t]*(.*)$", Path(f"/proc/{d.collector()}/status").read_text(), re.M))
    assert all(int(told[c], 16) == 0 for c in ("CapPrm", "CapEff", "CapInh", "CapAmb")), told
    assert told["NoNewPrivs"] == "1"
    assert 0 not in {int(n) for n in told["Uid"].split() + told["Gid"].split()} and not told["Groups"].split()
    d.end()


# --- limits and rights -----------------------------------------------------------------------------


def with_rights(*names):
    wanted = ",".join("+" + n for n in names)
    return ["setpriv", "--bounding-set", "-all" + ("," + wanted if wanted else ""), "--inh-caps", "-all", "--no-new-privs"]


def test_overhead_is_bounded(started, daemon):
    """If samples exceed --max-overhead, fewer are taken; if calls do, that would not help. The status says which."""
    program = started.program("c_busy").wait_ready().go()
    d = daemon("-p", program.pid, "--sample", "bytes:1k", "--max-overhead", "0.01")
    d.until(lambda: "--max-overhead is" in d.status()["bounds"], TIMEOUT)
    told = d.status()
    assert ("instead of 1024" in told["tracing"]) == ("--max-overhead is reached" in told["bounds"]), told
    d.ctl("off")
    law(d)
    d.end()
    assert program.finish() == 0


def test_a_slow_reader_is_told_of(started, daemon):
    """If the reader falls behind, fewer calls are sampled until it has caught up; the status says so."""
    program = started.program("c_busy").wait_ready().go()
    d = daemon("-p", program.pid, "--sample", "bytes:256", "--ring", "64k")
    d.until(lambda: program.pid in d.status()["table"])
    collector, told, end = d.collector(), {"bounds": ""}, time.monotonic() + TIMEOUT
    while "the reader falls behind" not in told["bounds"] and time.monotonic() < end:
        os.kill(collector, signal.SIGSTOP)
        time.sleep(0.5)
        os.kill(collector, signal.SIGCONT)
        told = d.status()
    assert "the reader falls behind" in told["bounds"] and "instead of 256" in told["tracing"], told
    d.end()
    assert program.finish() == 0


def test_few_rights_are_enough(started, daemon):
    program = started.program("c_busy").wait_ready().go()
    d = daemon("-p", program.pid, "--sample", "bytes:4k", launcher=with_rights(*RIGHTS))
    d.until(lambda: program.pid in d.status()["table"])
    d.end()


def test_administrator_only_where_needed(started, public):
    """Started as by the service: as another user, with a capability that is dropped where the kernel does not need it."""
    program = started.program("c_busy").wait_ready().go()
    caps = ",".join("+" + name for name in [*RIGHTS, "checkpoint_restore", "sys_admin"])
    launcher = [*NOBODY, "--inh-caps", "-all," + caps, "--ambient-caps", caps]
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, 65534, 65534)
        d = Daemon(Path(folder), "-p", program.pid, "--sample", "bytes:4k", launcher=launcher, binary=public(ALYS)).wait_ready()
        try:
            d.until(lambda: program.pid in d.status()["table"])
            effective = int(re.search(r"^CapEff:\s+(\w+)", Path(f"/proc/{d.proc.pid}/status").read_text(), re.M).group(1), 16)
            needed = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text()) > 2
            assert bool(effective >> CAP_SYS_ADMIN & 1) == needed and effective >> CAP_BPF & 1
            d.end()
        finally:
            d.kill()


def test_unreadable_target(started, daemon, tmp_path):
    """Processes whose files cannot be opened are reported and counted."""
    program = started.program("c_busy").wait_ready().go()
    few = with_rights("bpf", "perfmon")
    d = daemon("-p", program.pid, launcher=few)
    d.until(lambda: "files could not be opened" in d.status()["probes"])
    d.until(lambda: "CAP_SYS_PTRACE" in d.log())
    d.end()
    done = subprocess.run([*few, ALYS, "-o", tmp_path / "t.alys", "-p", str(program.pid)], capture_output=True, text=True,
                          timeout=TIMEOUT)
    assert done.returncode == 1 and re.search(r"no allocator found: \S+ of process \d+ .*could not be opened: Permission denied|Operation not permitted", done.stderr), done.stderr


@pytest.mark.parametrize("missing", ["bpf", "perfmon"])
def test_too_few_rights(started, tmp_path, missing):
    program = started.program("c_busy").wait_ready().go()
    done = subprocess.run([*with_rights(*(r for r in RIGHTS if r != missing)), ALYS, "daemon", "--socket", tmp_path / "s", "-p",
                           str(program.pid)], capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 1 and "not allowed" in done.stderr, done.stderr


class Servers:
    """Real servers on free ports: name -> (process, a request that must succeed, a load generator)."""

    def __init__(self, tmp_path):
        self.all = {}
        self.tmp_path = tmp_path
        for start in (self.nginx, self.redis, self.postgres, self.python, self.node):
            start()

    def add(self, name, argv, ask, load=None, **kw):
        proc = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **kw)
        self.all[name] = (proc, ask, load or ask)
        end = time.monotonic() + TIMEOUT
        while not self.answers(name):
            assert proc.poll() is None and time.monotonic() < end, f"{name} does not start"
            time.sleep(0.1)

    def answers(self, name):
        return subprocess.run(self.all[name][1], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=TIMEOUT).returncode == 0

    def load(self, name):
        subprocess.run(self.all[name][2], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=TIMEOUT, check=True)

    def nginx(self):
        port, home = free_port(), self.tmp_path / "nginx"
        home.mkdir()
        (home / "conf").write_text(f"daemon off; pid {home}/pid; error_log {home}/log; worker_processes 1; user root;"
                                   f"events {{}} http {{ access_log off; server {{ listen 127.0.0.1:{port};"
                                   "location / { return 200 'hello'; } } }\n")
        url = f"http://127.0.0.1:{port}/"
        self.add("nginx", ["nginx", "-p", home, "-c", home / "conf"], ["curl", "-sf", "-m", "60", url],
                 ["wrk", "-t1", "-c4", "-d1", url])

    def redis(self):
        port = str(free_port())
        self.add("redis-server", ["redis-server", "--port", port, "--save", "", "--dir", self.tmp_path],
                 ["redis-cli", "-p", port, "ping"],
                 ["redis-benchmark", "-p", port, "-q", "-n", "5000", "-t", "set,lpush", "-d", "2000", "-r", "100000"])

    def postgres(self):
        port, home = str(free_port()), Path(f"/tmp/alys-postgres-{os.getpid()}")
        home.mkdir(mode=0o700)
        os.chown(home, 65534, 65534)
        tools = next(Path("/usr/lib/postgresql").glob("*/bin"))
        subprocess.run([*NOBODY, tools / "initdb", "-D", home / "data", "-A", "trust", "-U", "test"], check=True, cwd="/",
                       stdout=subprocess.DEVNULL, timeout=TIMEOUT)
        sql = "select count(*) from (select repeat('x', n % 500), n from generate_series(1, 200000) n order by 1) s"
        ask = ["psql", "-h", "127.0.0.1", "-p", port, "-U", "test", "-d", "postgres", "-c"]
        # Its workers end with their connections. Ask for one that stays, too.
        self.stays = [*ask, sql, "-c", "select pg_sleep(60)"]
        self.add("postgres", [*NOBODY, tools / "postgres", "-D", home / "data", "-p", port, "-k", home], [*ask, "select 1"],
                 [*ask, sql], cwd="/")

    def python(self):
        port = str(free_port())
        self.add("python3", ["/usr/bin/python3", "-m", "http.server", port, "--bind", "127.0.0.1", "--directory", self.tmp_path],
                 ["curl", "-sf", "-m", "60", f"http://127.0.0.1:{port}/"], ["wrk", "-t1", "-c2", "-d1", f"http://127.0.0.1:{port}/"])

    def node(self):
        port = str(free_port())
        code = f"let k=[];require('http').createServer((q,r)=>{{k.push(Buffer.alloc(70000));k=k.slice(-50);r.end('x')}}).listen({port})"
        url = f"http://127.0.0.1:{port}/"
        self.add("node", ["node", "-e", code], ["curl", "-sf", "-m", "60", url], ["wrk", "-t1", "-c4", "-d1", url])

    def kill(self):
        for proc, _, _ in self.all.values():
            proc.terminate()
        for proc, _, _ in self.all.values():
            try:
                proc.wait(10)
            except subprocess.TimeoutExpired:
                proc.kill()
                proc.wait()
        shutil.rmtree(f"/tmp/alys-postgres-{os.getpid()}", ignore_errors=True)


@pytest.fixture
def servers(tmp_path):
    running = Servers(tmp_path)
    yield running
    running.kill()


def test_servers_side_by_side(started, daemon, servers):
    """All servers at once under --all: each is recorded, and each answers requests before, during and after."""
    crystal = started.server()
    d = daemon("--all", "--sample", "bytes:64k")
    staying = subprocess.Popen(servers.stays, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    for name in servers.all:
        servers.load(name)
    subprocess.run(["wrk", "-t1", "-c4", "-d1", crystal.url + "/"], stdout=subprocess.DEVNULL, check=True)
    d.until(lambda: crystal.pid in d.status()["table"] and set(servers.all) <= set(d.status()["table"].values()))
    assert not {d.proc.pid, d.collector()} & set(d.status()["table"]), "it must not feed itself"
    assert all(servers.answers(name) for name in servers.all)
    d.ctl("off")
    assert all(servers.answers(name) for name in servers.all)
    answer = subprocess.run(["curl", "-s", "-m", "60", crystal.url + "/"], capture_output=True)
    assert b"<h1>" in answer.stdout
    assert all(proc.poll() is None for proc, _, _ in servers.all.values())
    staying.kill()
    staying.wait()
    d.end()
