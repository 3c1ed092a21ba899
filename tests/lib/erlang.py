# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of tests/prog/erlang in an Erlang VM, and reads what reports say of them."""

import json
import re
import shutil
import subprocess

import pytest

from conftest import ROOT, alys

WORD = 8
WORDS = {"words:big/1": 20, "words:middle/1": 6, "words:small/1": 2}
ERL = shutil.which("erl")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("erlang")
    sources = ROOT / "tests/prog/erlang"
    subprocess.run(["erlc", "-o", folder, sources / "words.erl", sources / "tally.erl"], check=True)
    subprocess.run(["cc", "-shared", "-fPIC", "-g", "-O2", "-I/usr/lib/erlang/usr/include", "-o", folder / "tally.so", sources / "tally.c"], check=True)
    return folder


@pytest.fixture
def vm(started, compiled):
    def start(what, times, *options):
        return started.program(ERL, *options, "-noshell", "-pa", compiled, "-run", "words", "main", what, times).wait_ready()
    return start


def table(trace, *args):
    done = alys("report", "--by", "function", "-f", "json", "--top", "0", *args, trace)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["rows"]


def by_process(trace, *args):
    """What each row of --by erlang-process says, by the pid in the VM; "called": what stands behind it."""
    done = alys("report", "--by", "erlang-process", "-f", "json", "--top", "0", *args, trace)
    assert done.returncode == 0, done.stderr
    found = {}
    for row in json.loads(done.stdout)["rows"]:
        name = re.sub(r"^beam.smp \(\d+\) ", "", row["erlang-process"])
        pid, _, row["called"] = name.partition(" ") if name[0] == "<" else (name, "", "")
        found[pid] = row
    return found


def by_type(trace, show, *args):
    done = alys("report", "--by", "type", "--show", show, "-f", "json", "--top", "0", *args, trace)
    assert done.returncode == 0, done.stderr
    return {row["type"]: row for row in json.loads(done.stdout)["rows"]}
