# SPDX-License-Identifier: Apache-2.0
"""Why a process ended: told by `info`, and in the name and the comments of its last profile."""

import re

import pytest

from conftest import alys, pprof

pytestmark = pytest.mark.bpf
ENDS = {
    "exit": ("raise SystemExit(0)", "exit, status 0"),
    "status": ("raise SystemExit(3)", "exit, status 3"),
    "crash": ("os.kill(os.getpid(), signal.SIGSEGV)", "crash, SIGSEGV"),
    "abort": ("os.abort()", "abort, SIGABRT"),
    "killed": ("os.kill(os.getpid(), signal.SIGKILL)", "killed, SIGKILL"),
    "terminated": ("os.kill(os.getpid(), signal.SIGTERM)", "killed, SIGTERM"),
    # The thread that crashes is not the last one to go.
    "thread": ("threading.Thread(target=time.sleep, args=(60,), daemon=True).start(); "
               "threading.Thread(target=lambda: os.kill(os.getpid(), signal.SIGBUS)).start(); time.sleep(60)", "crash, SIGBUS"),
}
SCRIPT = """
import os, resource, signal, sys, threading, time
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
print("ready", flush=True)
sys.stdin.readline()
kept = [bytearray(2000 + i) for i in range(2000)]
%s
"""


def start(started, how):
    target = started.program("/usr/bin/python3", "-c", SCRIPT % ENDS[how][0]).wait_ready()
    target.said_end = ENDS[how][1]
    return target


@pytest.mark.parametrize("how", ENDS)
def test_in_a_trace(started, tmp_path, how):
    target = start(started, how)
    tracer = started.tracer("-p", target.pid, "-o", tmp_path / "t.alys").recording()
    target.proc.stdin.write(b"go\n")
    target.finish()
    assert tracer.wait() == 0, tracer.text
    told = alys("info", tmp_path / "t.alys").stdout
    assert re.search(rf"^ended +{target.pid} python3: {target.said_end}, at [\d.]+ s$", told, re.M), told
    assert len(re.findall("^ended ", told, re.M)) == 1


@pytest.mark.parametrize("how", ["crash", "abort", "killed"])
def test_in_the_last_profile(started, daemon, tmp_path, how):
    target = start(started, how)
    d = daemon("-p", target.pid, "--profile-dir", tmp_path / "p", "--every", "1h")
    target.proc.stdin.write(b"go\n")
    target.finish()
    d.until(lambda: list((tmp_path / "p").glob(f"*-{how}.pb.gz")))
    (path,) = (tmp_path / "p").glob("*.pb.gz")
    assert f"last profile of the process: {how}" in pprof("-comments", path)
    d.end()


def test_many_ends_are_counted(tmp_path):
    """Some lines, and how all others ended."""
    done = alys("--follow", "-o", tmp_path / "t.alys", "--", "/bin/bash", "-c",
                "for i in {1..40}; do /bin/true; done; for i in 1 2 3; do (ulimit -c 0; kill -ABRT $BASHPID); done; exit 0")
    assert done.returncode == 0, done.stderr
    text = alys("info", tmp_path / "t.alys").stdout
    assert len(re.findall(r"^ended +\d+ \w+: exit, status 0, at ", text, re.M)) == 16, text
    # The shell itself comes on top.
    assert re.search(r"^ +and 28 processes more: 25 exit, 3 abort$", text, re.M), text
