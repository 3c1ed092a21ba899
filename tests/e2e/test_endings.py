# SPDX-License-Identifier: Apache-2.0
"""The reason of a process's end, in `info` and in the name and comments of its last profile."""

import re

import pytest

from conftest import alys, pprof
from ends import ENDS, start

pytestmark = [pytest.mark.bpf, pytest.mark.beside]


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
    """`info` lists some processes and counts how the others ended."""
    done = alys("--follow", "-o", tmp_path / "t.alys", "--", "/bin/bash", "-c",
                "for i in {1..40}; do /bin/true; done; for i in 1 2 3; do (ulimit -c 0; kill -ABRT $BASHPID); done; exit 0")
    assert done.returncode == 0, done.stderr
    text = alys("info", tmp_path / "t.alys").stdout
    assert len(re.findall(r"^ended +\d+ \w+: exit, status 0, at ", text, re.M)) == 16, text
    # Plus the shell itself.
    assert re.search(r"^ +and 28 processes more: 25 exit, 3 abort$", text, re.M), text
