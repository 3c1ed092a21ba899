# SPDX-License-Identifier: Apache-2.0
"""Selection of targets: by each option, in containers, repeatedly; each file is examined once; the daemon is never traced."""

import fcntl
import gzip
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from conftest import ALYS, NOBODY, PROGS, TIMEOUT, changed_text, law

pytestmark = pytest.mark.bpf

# Sites of c_libc and similar programs that only their own calls reach.
PLAIN = ("site_malloc_kept", "site_malloc", "site_calloc", "site_memalign")


def copy(program, place):
    shutil.copy(PROGS / program, place)
    return str(place)


def assert_seen_once(d, program, truth):
    """After `off`, when all events have been read: each call is counted exactly once."""
    found = d.top(program.pid)
    for site in PLAIN:
        wanted = truth["sites"][site]["allocs"]
        assert abs(found.get(site, 0) - wanted) <= wanted / 100, (site, wanted, found)


def is_probed(program, name):
    return any(path.endswith("/" + name) for path in changed_text(program.pid))


def joining(group, program):
    """A command that moves only itself into the control group and then execs the program."""
    return "/bin/sh", "-c", f"echo $$ > {group}/cgroup.procs && exec {program}"


# --- chosen ----------------------------------------------------------------------------------------

def lonely_user():
    """A user who has no process."""
    busy = set(subprocess.run(["ps", "-eo", "ruid="], capture_output=True, text=True, check=True).stdout.split())
    return next(p for p in pwd.getpwall() if str(p.pw_uid) not in busy)


def test_several_of_each(started, daemon, tmp_path, public):
    """A process needs to match one condition; conditions without a match do no harm."""
    names = ("c_one", "c_two", "c_a_name_of_more_than_fifteen", "c_nobody_wants", "c_number")
    one, two, long, other, number = (started.program(copy("c_busy", tmp_path / name)).wait_ready().go() for name in names)
    user = lonely_user()
    theirs = started.program("/usr/bin/setpriv", "--reuid", user.pw_uid, "--regid", "65534", "--clear-groups", public(PROGS / "c_busy"))
    theirs.wait_ready().go()
    d = daemon("--name", "no-such-name", "--name", "c_one", "-n", names[2], "--exe", "/no/such/*", "--exe", f"{tmp_path}/c_tw?",
               "--user", user.pw_name, "--user", "64222", "--cgroup", "/no-such-group", "-p", number.pid, "--sample", "bytes:4k")
    d.until(lambda: set(d.status()["table"]) == {one.pid, two.pid, long.pid, number.pid, theirs.pid})
    assert other.pid not in d.status()["table"] and d.traced() == 5
    d.end()


def test_nobody_yet(started, daemon, tmp_path):
    """The daemon may start before its targets."""
    d = daemon("--name", "c_late")
    assert d.status()["tracing"] == "on; one sample every 524288 bytes"
    assert d.traced() == 0 and d.status()["probes"].startswith("0 files, 0 places, 0 links")
    late = started.program(copy("c_busy", tmp_path / "c_late")).wait_ready().go()
    d.until(lambda: late.pid in d.status()["table"])
    d.end()


def test_heap_without_a_sample_is_below_something(started, daemon):
    """Everything is freed at once: 0 B is what was sampled, not what is in use, so a bound is stated."""
    busy = started.program("c_busy").wait_ready()
    d = daemon("-p", busy.pid, "--sample", "bytes:1M")
    busy.go()
    d.until(lambda: re.search(rf"^ +{busy.pid}  c_busy +<3\.0 MiB ", d.ctl("status").decode(), re.M))
    d.end()


@pytest.mark.parametrize("when", ["before", "after"])
def test_translators_outlive_a_daemon_that_watches_all(started, daemon, when):
    valgrind = ("/usr/bin/valgrind", "-q", "--tool=none", PROGS / "c_busy")
    early = started.program(*valgrind).wait_ready() if when == "before" else None
    native = started.program("c_busy").wait_ready().go()
    d = daemon("--all", "--sample", "bytes:4k")
    d.until(lambda: native.pid in d.status()["table"])
    stranger = early or started.program(*valgrind).wait_ready()
    stranger.go()
    time.sleep(2)
    assert stranger.proc.poll() is None and stranger.pid not in d.status()["table"]
    assert "runs under valgrind" in d.log()
    assert stranger.finish() == 0
    before = d.top(native.pid).get(None, 0)
    d.until(lambda: d.top(native.pid).get(None, 0) > before)
    d.end()


def test_who_ends_before_its_own_probes_are_there(started, daemon, tmp_path):
    """Hundreds of processes exit or exec while their probes are being attached: nothing is refused because of them."""
    path = copy("c_soak", tmp_path / "c_nursery")
    d = daemon("--exe", path, "--sample", "bytes:4k")
    nursery = started.program(path, "nursery", 500).wait_ready()
    d.until(lambda: d.traced() == 1)
    for _ in range(20):
        nursery.go()
        assert re.fullmatch(r"born 500 failed 0 ms \d+", nursery.line())
        d.until(lambda: d.traced() == 1)
        if "ended before it could be probed" in d.log():
            break
    assert "ended before it could be probed" in d.log()
    assert "not allowed" not in d.log() and "refused a request" not in d.log()
    assert nursery.finish() == 0
    d.end()


def test_by_a_link_to_the_program(started, daemon, tmp_path):
    """The kernel knows the program by another path, as /bin/sh on most machines."""
    path = copy("c_busy", tmp_path / "c_own_name")
    (tmp_path / "link").symlink_to(path)
    program = started.program(path).wait_ready().go()
    d = daemon("--exe", tmp_path / "link", "--sample", "bytes:4k")
    d.until(lambda: program.pid in d.status()["table"])
    d.end()


def test_program_that_was_deleted(started, daemon, tmp_path):
    path = copy("c_busy", tmp_path / "c_gone")
    program = started.program(path).wait_ready().go()
    os.unlink(path)
    d = daemon("--exe", path, "--sample", "bytes:4k")
    d.until(lambda: program.pid in d.status()["table"])
    d.until(lambda: {"work", "main"} & set(d.top(program.pid)))
    d.end()
    assert program.finish() == 0


def test_never_itself(group, started, daemon, tmp_path):
    """Its own processes, other daemons and kernel threads are refused."""
    d = daemon("--cgroup", group, "--sample", "bytes:1")
    for pid in (d.proc.pid, d.collector()):
        done = d.run("add", pid)
        assert done.returncode == 1 and b"does not trace itself" in done.stderr, done
    done = d.run("add", 2)
    assert done.returncode == 1 and b"kernel thread" in done.stderr, done
    second = subprocess.Popen(joining(group, f"{ALYS} daemon --off --socket {tmp_path}/other"), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        assert b"daemon" in second.stderr.readline()
        program = started.program(*joining(group, PROGS / "c_busy")).wait_ready().go()
        d.until(lambda: program.pid in d.status()["table"])
        assert "alys-bpf" not in d.status()["table"].values()
        d.until(lambda: d.traced() == 1)
    finally:
        second.terminate()
        second.communicate(timeout=TIMEOUT)
    d.ctl("off")
    law(d)
    d.end()


# --- containers ------------------------------------------------------------------------------------

@pytest.fixture
def containers(overlays):
    return overlays(PROGS / "c_static", PROGS / "c_gcfixed", "/usr/lib/x86_64-linux-gnu/libgc.so.1")


@pytest.mark.parametrize("how_chosen", ["cgroup", "exe"])
def test_containers_of_one_image(group, containers, started, daemon, how_chosen):
    """Their program is one file to the kernel, whatever device each container sees: a call is counted once."""
    d = daemon(*{"cgroup": ("--cgroup", group), "exe": ("--exe", "*/c_static")}[how_chosen], "--sample", "bytes:1")
    programs = [started.program(*joining(group, folder / "c_static")).wait_ready() for folder in containers]
    d.until(lambda: d.traced() == 3 and all(is_probed(p, "c_static") for p in programs))
    truths = [program.go().truths()[0] for program in programs]
    d.ctl("off")
    for program, truth in zip(programs, truths):
        assert_seen_once(d, program, truth)
    law(d)
    d.end()


def test_samples_in_containers_of_one_image(group, containers, started, daemon):
    """Each probe reports refills by itself: two probes would count the bytes twice."""
    d = daemon("--cgroup", group, "--sample", "bytes:4k")
    programs = [started.program(*joining(group, f"env LD_LIBRARY_PATH={folder} {folder}/c_gcfixed blocks")).wait_ready()
                for folder in containers]
    d.until(lambda: d.traced() == 3 and all(is_probed(p, "libgc.so.1") for p in programs))
    truths = [program.go().truths()[0]["sites"] for program in programs]
    d.ctl("off")
    for program, truth in zip(programs, truths):
        wanted = sum(site["bytes"] for name, site in truth.items() if name.startswith("site_list"))
        found = sum(n for name, n in d.top(program.pid, "alloc_space").items() if name and name.startswith("site_list"))
        assert 0.75 * wanted < found < 1.3 * wanted, (wanted, found)
    d.end()


def test_a_container_that_ends_leaves_the_others(group, containers, started, daemon):
    """The file's path in the ended container is gone, but its probes serve another container as well."""
    d = daemon("--cgroup", group, "--sample", "bytes:1")
    first, second = (started.program(*joining(group, folder / "c_static")).wait_ready() for folder in containers[1:])
    d.until(lambda: d.traced() == 2 and d.status()["probes"].startswith("2 files"))
    first.kill()
    d.until(lambda: d.status()["probes"].startswith("1 files"))
    truth = second.go().truths()[0]
    d.ctl("off")
    assert_seen_once(d, second, truth)
    d.end()


# --- once, and again -------------------------------------------------------------------------------

def examined(d):
    return int(d.status()["probes"].rsplit("; ", 1)[1].split()[0])


@pytest.mark.parametrize("more", [[], ["--follow"]])
def test_files_are_examined_once(started, daemon, tmp_path, more):
    """Files are not examined again for each process or each `on`."""
    path = copy("c_busy", tmp_path / "c_many")
    programs = [started.program(path).wait_ready().go()]
    d = daemon("--exe", f"{tmp_path}/*", "--sample", "bytes:4k", *more)
    d.until(lambda: d.traced() == 1)
    first = examined(d)
    assert first >= 2
    for _ in range(2):
        programs += [started.program(path).wait_ready().go() for _ in range(4)]
        d.until(lambda: {p.pid for p in programs} <= set(d.status()["table"]))
        d.ctl("off")
        d.ctl("on")
    d.until(lambda: {p.pid for p in programs} <= set(d.status()["table"]))
    assert examined(d) == first
    another = started.program(copy("c_busy", tmp_path / "c_more")).wait_ready().go()
    d.until(lambda: another.pid in d.status()["table"])
    assert examined(d) == first + 1, "its libraries were known"
    d.end()


def test_very_many_processes(started, daemon, tmp_path):
    """The kernel would take long to remove links per process, so they share links. Other processes are still left out."""
    shutil.copy("/bin/sleep", tmp_path / "w_sleep")
    idle = [subprocess.Popen([tmp_path / "w_sleep", "10000"]) for _ in range(140)]
    try:
        wanted, other = (started.program(copy("c_libc", tmp_path / name)).wait_ready() for name in ("w_libc", "other"))
        d = daemon("--exe", f"{tmp_path}/w_*", "--sample", "bytes:1")
        assert d.traced() == len(idle) + 1
        assert int(d.status()["probes"].split(", ")[2].split()[0]) < len(idle)
        late = started.program(str(tmp_path / "w_libc")).wait_ready()
        d.until(lambda: d.traced() == len(idle) + 2)
        truths = [(program, program.go().truths()[0]) for program in (wanted, other, late)]
        d.ctl("off")
        assert other.pid not in d.status()["table"]
        for program, truth in truths[::2]:
            assert_seen_once(d, program, truth)
        law(d)
        d.end()
    finally:
        for p in idle:
            p.kill()
            p.wait()


def test_many_that_come_one_by_one(daemon, tmp_path):
    """They have their own links until tracing is switched on again, which the status says."""
    shutil.copy("/bin/sleep", tmp_path / "w_sleep")
    d = daemon("--exe", tmp_path / "w_sleep")
    idle = [subprocess.Popen([tmp_path / "w_sleep", "10000"]) for _ in range(140)]
    try:
        links = lambda: int(d.status()["probes"].split(", ")[2].split()[0])
        d.until(lambda: d.traced() == len(idle))
        d.until(lambda: links() > len(idle))
        assert d.log().count("`alys-bpf ctl off` and `on`") == 1
        d.ctl("off")
        d.ctl("on")
        d.until(lambda: d.traced() == len(idle) and 0 < links() < len(idle))
        d.end()
    finally:
        for p in idle:
            p.kill()
            p.wait()


def attached(d, name):
    return d.log().count(f"{name}: ")


def test_a_process_that_is_wanted_again(started, daemon, tmp_path):
    """While it runs another program it is not traced. Old probes are gone before new ones come, or calls would count twice."""
    for name, program in (("w_first", "/bin/sh"), ("not_wanted", "/bin/sh"), ("w_last", PROGS / "c_libc")):
        shutil.copy(program, tmp_path / name)
    script = f"echo ready; read x; exec {tmp_path}/not_wanted -c 'echo not; read x; exec {tmp_path}/w_last'"
    program = started.program(str(tmp_path / "w_first"), "-c", script).wait_ready()
    d = daemon("--exe", f"{tmp_path}/w_*", "--sample", "bytes:1")
    d.until(lambda: attached(d, "libc.so.6") == 1)
    program.proc.stdin.write(b"\n")
    program.proc.stdin.flush()
    assert program.line() == "not"
    d.until(lambda: d.traced() == 0)
    program.proc.stdin.write(b"\n")
    program.proc.stdin.flush()
    program.wait_ready()
    d.until(lambda: attached(d, "libc.so.6") == 2)
    truth = program.go().truths()[0]
    d.ctl("off")
    assert_seen_once(d, program, truth)
    law(d)
    d.end()
    assert program.finish() == 0


def test_a_file_that_is_used_again(group, started, daemon):
    """A file that is unused for a while loses its probes; while they are removed, a process maps it again."""
    d = daemon("--cgroup", group, "--sample", "bytes:1")
    for _ in range(2):
        program = started.program(*joining(group, PROGS / "c_static")).wait_ready()
        d.until(lambda: d.traced() == 1 and d.status()["probes"].startswith("1 files"))
        program.kill()
        d.until(lambda: d.status()["probes"].startswith("0 files"))
    program = started.program(*joining(group, PROGS / "c_static")).wait_ready()
    d.until(lambda: d.traced() == 1 and d.status()["probes"].startswith("1 files"))
    truth = program.go().truths()[0]
    d.ctl("off")
    assert_seen_once(d, program, truth)
    law(d)
    d.end()


# --- what holds it up ------------------------------------------------------------------------------

@pytest.mark.parametrize("words, said", [("user nobody-of-this-name", "no such user"), ("listen {port}", "{port}"), ("", "nothing to trace"),
                                         ("profile-dir /proc/none", "--profile-dir /proc/none")])
def test_reload_of_what_cannot_be_used(started, daemon, tmp_path, words, said):
    """Options whose errors show only in use: the daemon continues with the previous ones."""
    program = started.program("c_busy").wait_ready().go()
    config = tmp_path / "conf"
    config.write_text(f"pid {program.pid}\nsample bytes:4k\n")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        d = daemon("--config", config)
        chosen = f"\npid {program.pid}" if words else ""
        config.write_text(words.format(port=port) + chosen + "\nsample bytes:64k\n")
        d.proc.send_signal(signal.SIGHUP)
        d.until(lambda: said.format(port=port) in d.log())
        d.until(lambda: d.run("status").returncode == 0 and program.pid in d.status()["table"])
        assert "every 4096 bytes" in d.status()["tracing"]
    config.write_text(f"pid {program.pid}\nsample bytes:32k\n")
    d.proc.send_signal(signal.SIGHUP)
    d.until(lambda: d.run("status").returncode == 0 and "every 32768 bytes" in d.status()["tracing"])
    d.end()


def test_a_log_that_nobody_reads(daemon):
    """If stderr is not read, lines are lost and counted, and requests are still answered."""
    idle = [subprocess.Popen(["sleep", "10000"]) for _ in range(8)]
    try:
        d = daemon("--off", "-p", ",".join(str(p.pid) for p in idle))
        fcntl.fcntl(d.proc.stderr, fcntl.F_SETPIPE_SZ, 4096)

        def switch_and_look():
            d.ctl("on")
            d.ctl("off")
            return "lines lost" in d.status().get("log", "")
        d.until(switch_and_look)
        assert "were lost" not in d.log()
        d.ctl("on")
        d.until(lambda: "lines before this one were lost" in d.log())
        d.end()
    finally:
        for p in idle:
            p.kill()
            p.wait()


SILENT = """
import socket, sys
held = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(16)]
for one in held:
    one.connect(sys.argv[1])
print("ready", flush=True)
sys.stdin.read()
"""


def test_strangers_that_say_nothing(daemon, public):
    """Silent connections take all places. An administrator still gets one at once."""
    d = daemon("--off", place=public.folder)
    strangers = subprocess.Popen([*NOBODY, "/usr/bin/python3", "-c", SILENT, d.socket], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert strangers.stdout.readline() == b"ready\n"
        for _ in range(3):
            assert d.run("status").returncode == 0
    finally:
        strangers.kill()
        strangers.communicate()
    d.end()


def test_a_target_that_stands_still(started, daemon):
    """A stopped process can be attached to and detached from. It stays stopped."""
    program = started.program("c_busy").wait_ready().go()
    d = daemon("-p", program.pid, "--sample", "bytes:4k")
    d.until(lambda: program.pid in d.status()["table"])
    os.kill(program.pid, signal.SIGSTOP)
    d.ctl("off")
    assert changed_text(program.pid) == {}
    d.ctl("on")
    d.end()
    assert changed_text(program.pid) == {}
    assert Path(f"/proc/{program.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"
    os.kill(program.pid, signal.SIGCONT)
    assert program.finish() == 0


def test_losses_of_a_process_name_the_function(daemon, started):
    """A process' ledger names the function, as the total does: calls that entered malloc and left in a way that was not seen."""
    target = started.program("c_strange", "away").wait_ready()
    d = daemon("-p", target.pid, "--sample", "bytes:1")
    target.go()
    target.truths()
    lost = re.compile(r"no-return-malloc@c_strange (\d+)")
    d.until(lambda: lost.search(d.status()["account"]))
    text = gzip.decompress(d.ctl("snapshot", target.pid)).decode(errors="replace")
    # Counts of the process, and of all together. The process may be in its last call.
    assert len(lost.findall(text)) == 2 and {int(n) for n in lost.findall(text)} <= {499, 500}, text
