# SPDX-License-Identifier: Apache-2.0
"""Cached stacks equal those of a full walk, in many programs: --check-stacks does both and counts differences."""

import contextlib
import os
import shutil
import signal
import subprocess

import pytest

from conftest import ALYS, PROGS, STRAIGHT, TIMEOUT, alys, ledger

pytestmark = [pytest.mark.bpf, pytest.mark.beside]

PROGRAMS = sorted(p.name for p in PROGS.iterdir() if p.suffix not in (".so", ".types", ".d", ".o")) if PROGS.exists() else []

PYTHON = """
import json, re, sqlite3
for n in range(40):
    json.loads(json.dumps({str(i): [i] * 5 for i in range(200)}))
    re.compile("a+(b|c)%d" % n).findall("aab" * 100)
    c = sqlite3.connect(":memory:")
    c.execute("create table t(a)")
    c.executemany("insert into t values(?)", [(i,) for i in range(200)])
"""

NODE = """
const zlib = require('zlib');
for (let n = 0; n < 300; n++) { zlib.deflateSync(Buffer.alloc(2000, 'abc')); JSON.parse(JSON.stringify({ a: [n] })); }
"""


def both_ways(tmp_path, *command):
    trace, said = tmp_path / "both.alys", tmp_path / "said"
    asked = [ALYS, "-F", "--check-stacks", "-d", "2", "-o", trace, "--", *command]
    with said.open("wb") as err:
        tracer = subprocess.Popen(asked, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err, env=STRAIGHT, start_new_session=True)
    try:
        tracer.wait(TIMEOUT)
    finally:
        # Some programs go on until somebody ends them.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(tracer.pid, signal.SIGKILL)
        tracer.wait()
    assert "recorded" in said.read_text(errors="replace"), said.read_text(errors="replace")
    return ledger(trace)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program(tmp_path, name):
    book = both_ways(tmp_path, PROGS / name)
    assert not book.rows.get("walks-differ"), book.rows


@pytest.mark.parametrize("command", [("python3", "-c", PYTHON), ("node", "-e", NODE)], ids=["python", "node"])
def test_interpreters(tmp_path, command):
    assert shutil.which(command[0]), "scripts/deps installs it"
    book = both_ways(tmp_path, *command)
    assert not book.rows.get("walks-differ") and book.rows.get("walks-compared", 0) > book.recorded // 2, book.rows


def test_without_the_option_nothing_is_compared(tmp_path):
    trace = tmp_path / "plain.alys"
    alys("-o", trace, "--", PROGS / "c_busy", env=STRAIGHT)
    assert not ledger(trace).rows.get("walks-compared")
