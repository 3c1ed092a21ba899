# SPDX-License-Identifier: Apache-2.0
"""`make install`, and the privileges of the service."""

import ctypes
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from as_service import account, settings
from backend import Backend
from browser_driver import need
from conftest import ROOT, TIMEOUT, make
from served import functions
from web_driver import wait_for

HERE = Path(__file__).parent
SLICE_NS = 100000

WANTED = ["usr/bin/alys-bpf", "usr/bin/alys_converter", "usr/share/man/man1/alys-bpf.1",
          "usr/share/bash-completion/completions/alys-bpf", "usr/share/zsh/site-functions/_alys-bpf",
          "usr/share/fish/vendor_completions.d/alys-bpf.fish", "lib/systemd/system/alys-bpf.service",
          "usr/lib/sysusers.d/alys-bpf.conf", "etc/alys-bpf/daemon.conf"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    root = tmp_path_factory.mktemp("install")
    make("install", f"DESTDIR={root}", "PREFIX=/usr")
    return root


def test_everything_is_there(installed):
    for path in WANTED:
        assert (installed / path).stat().st_size > 0, path
    assert os.readlink(installed / "usr/bin/alys_converter") == "alys-bpf"
    assert re.search(r"^\.TH ALYS-BPF 1 ", (installed / "usr/share/man/man1/alys-bpf.1").read_text(), re.M), "where it lies"
    assert "/usr/bin/alys-bpf daemon" in (installed / "lib/systemd/system/alys-bpf.service").read_text()
    help_text = help_of(installed, "daemon", "all")
    for line in (installed / "etc/alys-bpf/daemon.conf").read_text().splitlines():
        if line and not line.startswith("#"):
            assert f"--{line.split()[0]}" in help_text, line


def test_help_fits_a_screen(installed):
    """It has what is wanted every day, and says how to see the rest."""
    for verb in verbs_of(installed):
        every_day, everything = help_of(installed, verb), help_of(installed, verb, "all")
        assert len(every_day.splitlines()) <= 48 and max(map(len, everything.splitlines())) <= 80, verb
        assert set(options_in(every_day)) <= set(options_in(everything)) and options_in(everything)
        assert (f"\nMore options: alys-bpf {verb} --help all," in every_day) == (every_day != everything), verb


def help_of(installed, verb, *words):
    done = subprocess.run([installed / "usr/bin/alys-bpf", verb, "--help", *words], capture_output=True, text=True, timeout=TIMEOUT)
    return done.stdout


def options_in(text):
    return re.findall(r"^ {2,6}(?:-\w, )?(--[\w-]+)", text, re.M)


def verbs_of(installed):
    done = subprocess.run([installed / "usr/bin/alys-bpf", "--print-verbs"], capture_output=True, text=True, timeout=TIMEOUT)
    return done.stdout.split()


def test_every_verb_has_its_page(installed):
    """Each verb's page has all its options, and man prints no warning."""
    assert {"record", "report", "daemon", "census"} <= set(verbs_of(installed))
    for verb in verbs_of(installed):
        page = installed / f"usr/share/man/man1/alys-bpf-{verb}.1"
        done = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, text=True, timeout=TIMEOUT,
                              env=os.environ | {"MANWIDTH": "200", "LC_ALL": "C.UTF-8"})
        assert done.returncode == 0 and not done.stderr, done.stderr
        for option in options_in(help_of(installed, verb, "all")):
            assert option in done.stdout.replace("\N{HYPHEN}", "-"), (verb, option)


@pytest.mark.parametrize("line, words", [
    ("alys-bpf graph --show ", "graph counts sizes"), ("alys-bpf report --show ", "live alloc peak temporary leaked freed"),
    ("alys-bpf --backtrace ", "none addr name full"), ("alys-bpf ctl --tim", "--timeout"),
])
def test_completion_knows_the_verb(installed, line, words):
    """An option may take other values with another verb."""
    script = ('source "$0"; COMP_WORDS=($1); [[ $1 == *" " ]] && COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); '
              '_alys_bpf; echo "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "-c", script, installed / WANTED[3], line], capture_output=True, text=True, timeout=TIMEOUT, cwd=installed)
    assert done.stdout.split() == words.split(), done.stderr


def test_changed_configuration_stays(installed):
    conf = installed / "etc/alys-bpf/daemon.conf"
    conf.write_text("all\n")
    make("install", f"DESTDIR={installed}", "PREFIX=/usr")
    assert conf.read_text() == "all\n"


# --- as the service --------------------------------------------------------------------------------

@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze")
def test_the_service_is_exposed_to_little(installed):
    """The exposure that `systemd-analyze security` states for the unit, in tenths."""
    unit = installed / "lib/systemd/system/alys-bpf.service"
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=25", unit],
                          capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stdout[-200:] + done.stderr


class Supervisor:
    """Reads the messages of a Type=notify service all the time: the socket's queue is short."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        path.chmod(0o666)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.heard, self.past, self.speakers = [], 0, set()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            words, control, *_ = self.socket.recvmsg(4096, socket.CMSG_SPACE(12))
            self.speakers.add(struct.unpack("iII", control[0][2])[0])
            self.heard += words.decode().splitlines()

    def hear(self, word):
        wait_for(lambda: word in self.heard[self.past:])
        self.past = self.heard.index(word, self.past) + 1


@pytest.fixture
def backend():
    one = Backend()
    yield one
    one.close()


@pytest.fixture
def state(installed):
    """The state directory, as systemd would create it for the service."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chown(folder, *account(settings(installed / "lib/systemd/system/alys-bpf.service")))
        os.chmod(folder, 0o755)
        yield Path(folder)


def configure(state, pid):
    """The installed options, except for paths that may be in use here and for processes of others."""
    text = (ROOT / "dist/daemon.conf").read_text()
    for line, ours in ((r"all", f"pid {pid}"), (r"listen .*", f"listen {state}/http"), (r"profile-dir .*", f"profile-dir {state}/profiles")):
        text, n = re.subn(f"^{line}$", ours, text, flags=re.M)
        assert n == 1, line
    (state / "conf").write_text(text)
    return state / "conf"


def slice_of(pid):
    """As sched_getattr(2) has it; 0 where the kernel does not show it (before 6.12)."""
    attr = ctypes.create_string_buffer(48)
    number = {"x86_64": 315, "aarch64": 275}[os.uname().machine]
    assert not ctypes.CDLL(None).syscall(number, pid, attr, len(attr), 0)
    return struct.unpack_from("=IIQiIQ", attr)[5]


@pytest.mark.bpf
@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze")
def test_as_the_service_is_run(installed, started, daemon, public, state, backend, tmp_path, monkeypatch):
    """The unit's user, capabilities, system calls and limits suffice, for the sandbox too, and it sends what Type=notify requires."""
    need("go")
    unit = installed / "lib/systemd/system/alys-bpf.service"
    assert re.search(r"^Type=notify\nNotifyAccess=main$", unit.read_text(), re.M)
    supervisor = Supervisor(state / "notify")
    monkeypatch.setenv("NOTIFY_SOCKET", str(state / "notify"))
    monkeypatch.setenv("WATCHDOG_USEC", "3000000")
    program = started.program("c_grow").wait_ready().go()
    conf, token = configure(state, program.pid), tmp_path / "token"
    token.write_text("X-Token: abcdef\n")
    token.chmod(0o600)
    with open(conf, "a") as f:
        f.write(f"push http://127.0.0.1:{backend.port}\npush-every 0.2\npush-header-file {token}\n")
    d = daemon("--config", conf, place=state, binary=public(installed / "usr/bin/alys-bpf"),
               launcher=[sys.executable, HERE / "as_service.py", unit])
    supervisor.hear("READY=1")
    supervisor.hear("WATCHDOG=1")
    assert slice_of(d.proc.pid) in (0, SLICE_NS) and os.getpriority(os.PRIO_PROCESS, d.proc.pid) == -15
    ours = (state / "http").stat()
    assert ours.st_mode & 0o777 in (0o660, 0o600) and ours.st_uid == account(settings(unit))[0], "no other user may connect"

    def heap():
        """The two commands of README.md in sequence: pprof itself cannot connect to a unix socket."""
        subprocess.run(["curl", "-sS", "--fail", "--unix-socket", state / "http", "-o", state / "heap.pb.gz",
                        f"http://localhost/debug/pprof/heap?pid={program.pid}"], check=True, timeout=TIMEOUT)
        return functions(state / "heap.pb.gz", "inuse_space")

    wait_for(lambda: heap().get("site_grow_fast", 0) > 0)
    told = d.status()
    assert told["http"] == str(state / "http")
    assert "refused" not in told["rights"] and told["names"].endswith(", 0 failures of workers"), told
    assert "could not be opened" not in told["probes"], told
    d.proc.send_signal(signal.SIGHUP)
    supervisor.hear("RELOADING=1")
    supervisor.hear("READY=1")
    d.until(lambda: program.pid in d.status()["table"])
    backend.taken.clear()
    wait_for(lambda: backend.taken)
    assert {headers["X-Token"] for _, headers, _ in backend.taken} == {"abcdef"}, "a secret of root's, also after a reload"
    d.ctl("off")
    supervisor.hear("STATUS=off")
    assert supervisor.speakers == {d.proc.pid}, "systemd would not listen to another process than the one it started"
    d.end()
    assert not (state / "http").exists()
    supervisor.hear("STOPPING=1")
    assert list((state / "profiles").glob("c_grow-*.pb.gz"))
    assert program.finish() == 0
