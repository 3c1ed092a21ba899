# SPDX-License-Identifier: Apache-2.0
"""The service has no superfluous capability: without any one of them something fails, and that is reported."""

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from conftest import ADMIN, ALYS, NOBODY, PROGS, RIGHTS, TIMEOUT, Daemon

pytestmark = [pytest.mark.bpf, pytest.mark.beside]

ALL = [*RIGHTS, "checkpoint_restore"]


@pytest.fixture
def secret(started, public):
    """A running program whose file is deleted and was readable by root only."""
    path = public.folder / "secret"
    shutil.copy(PROGS / "c_grow", path)
    path.chmod(0o700)
    program = started.program(path).wait_ready()
    path.unlink()
    return program.go()


@pytest.fixture
def state():
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chown(folder, 65534, 65534)
        yield Path(folder)


def start(state, binary, pid, *names):
    caps = ",".join("+" + name for name in names)
    launcher = [*NOBODY, "--bounding-set", "-all," + caps, "--inh-caps", "-all," + caps, "--ambient-caps", caps, "--no-new-privs"]
    return Daemon(state, "-p", pid, "--sample", "bytes:4k", launcher=launcher, binary=binary)


def test_all_are_enough(secret, public, state):
    d = start(state, public(ALYS), secret.pid, *ALL, *ADMIN).wait_ready()
    try:
        d.until(lambda: secret.pid in d.status()["table"])
        assert "could not be opened" not in d.status()["probes"]
        d.end()
    finally:
        d.kill()


@pytest.mark.parametrize("missing", ["sys_ptrace", "dac_read_search", "checkpoint_restore"])
def test_without_this_one_files_stay_closed(secret, public, state, missing):
    if missing == "checkpoint_restore" and ADMIN:
        pytest.skip("who may administrate everything may do this, too")
    d = start(state, public(ALYS), secret.pid, *(name for name in ALL if name != missing), *ADMIN).wait_ready()
    try:
        d.until(lambda: "could not be opened" in d.status()["probes"])
        d.until(lambda: f"CAP_{missing.upper()}" in d.log())
        d.end()
    finally:
        d.kill()


@pytest.mark.parametrize("missing", ["bpf", "perfmon"])
def test_without_this_one_nothing_starts(secret, public, state, missing):
    d = start(state, public(ALYS), secret.pid, *(name for name in ALL if name != missing))
    try:
        _, text = d.proc.communicate(timeout=TIMEOUT)
        assert d.proc.returncode == 1 and b"not allowed" in text, text
    finally:
        d.kill()


CAPABILITIES = {"kill": 5, "setgid": 6, "setuid": 7, "chown": 0, "sys_ptrace": 19, "dac_read_search": 2, "sys_admin": 21,
                "perfmon": 38, "bpf": 39, "checkpoint_restore": 40}
AS_ANOTHER = ["kill", "setgid", "setuid", "chown"]  # what makes the next collector another user


def bits(names):
    return sum(1 << CAPABILITIES[name] for name in names)


def facts(pid):
    return dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)


def assert_little_left(d, most):
    """The broker has only these capabilities, the collector none, and both have a seccomp filter."""
    broker, collector = facts(d.proc.pid), facts(d.collector())
    for key in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
        assert int(collector[key], 16) == 0 and int(broker[key], 16) & ~most == 0, (key, broker[key], collector[key])
    for each in (broker, collector):
        assert each["Seccomp"] == "2" and each["NoNewPrivs"] == "1", each


def test_by_hand_rights_that_are_not_used_go(daemon):
    most = bits(ALL) | bits(ADMIN) | bits(AS_ANOTHER)
    d = daemon("--name", "none_of_these")
    assert_little_left(d, most)
    before = d.collector()
    d.proc.send_signal(signal.SIGHUP)
    d.until(lambda: d.collector() != before)
    assert_little_left(d, most)


def test_as_a_service_rights_that_are_not_used_go(public, state):
    names = [*ALL, "sys_admin"]
    caps = ",".join("+" + name for name in names)
    launcher = [*NOBODY, "--inh-caps", "-all," + caps, "--ambient-caps", caps, "--no-new-privs"]
    d = Daemon(state, "--name", "none_of_these", launcher=launcher, binary=public(ALYS)).wait_ready()
    try:
        assert_little_left(d, bits(ALL) | bits(ADMIN))
        d.end()
    finally:
        d.kill()
