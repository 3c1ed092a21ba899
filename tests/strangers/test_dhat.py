# SPDX-License-Identifier: Apache-2.0
"""Comparison with an independent tool that sees every call: valgrind's DHAT on the same program."""

import json
import os
import subprocess

import pytest

from conftest import ALYS, TIMEOUT, assert_law, events_of
from programs import AWK, LUA, PERL, SQLITE, supplies

pytestmark = pytest.mark.bpf

# Programs that allocate the same in each run: one thread, no randomized hashes.
PYTHON = "import json, re; t = {f'key {i}': [i] * (i % 20) for i in range(400)}; len(json.dumps(t)) + len(re.findall('k', repr(t)))"
PROGRAMS = {
    "jq": ["jq", "-c", "group_by(.name) | map({(.[0].name): map(.tags[0]) | unique})", "numbers.json"],
    "gawk": ["gawk", AWK, "numbers.txt"],
    "lua": ["lua5.4", "-e", LUA],
    "sqlite3": ["sqlite3", ":memory:", SQLITE],
    "git": ["git", "--no-pager", "diff", "--no-index", "--patience", "numbers.txt", "other.txt"],
    "perl": ["perl", "-e", PERL],
    "python3": ["/usr/bin/python3", "-I", "-c", PYTHON],
    "xz": ["xz", "-T1", "-3", "-k", "-c", "numbers.txt"],
    "diff": ["diff", "numbers.txt", "other.txt"],
}
# Blocks and bytes by which runs may differ, because these programs copy their environment and their own name.
COPIES = {"gawk": (0, 64), "perl": (0, 128), "python3": (1, 64)}


DHAT = ["valgrind", "-q", "--tool=dhat"]


def environments(folder):
    """
    Environments for valgrind and alys-bpf, of equal length because programs copy them: ours has the variables that
    valgrind adds, with other names.
    """
    plain = {"PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C", "PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0",
             "PERL_HASH_SEED": "0"}
    told = subprocess.run([*DHAT, "--dhat-out-file=/dev/null", "env", "-0"], env=plain, capture_output=True, check=True, timeout=TIMEOUT)
    words = dict(os.fsdecode(line).split("=", 1) for line in told.stdout.split(b"\0") if line)
    assert "LD_PRELOAD" in words
    return plain, {"AS_PRELOAD" if name == "LD_PRELOAD" else name: value for name, value in words.items()}


def of_dhat(words, folder, env):
    """Total blocks and bytes. As in DHAT, a reallocated block counts once more, with its new size."""
    out = folder / "dhat.out"
    subprocess.run([*DHAT, f"--dhat-out-file={out}", *words], cwd=folder, env=env,
                   stdout=subprocess.DEVNULL, timeout=3 * TIMEOUT)
    points = json.loads(out.read_text())["pps"]
    return sum(p["tbk"] for p in points), sum(p["tb"] for p in points)


@pytest.mark.parametrize("name", PROGRAMS)
def test_blocks_and_bytes(tmp_path, name):
    supplies(tmp_path)
    trace, (bare, ours) = tmp_path / "t.alys", environments(tmp_path)
    done = subprocess.run([str(ALYS), "record", "-q", "-b", "none", "-o", trace, "--", *PROGRAMS[name]], cwd=tmp_path, env=ours,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT)
    assert trace.exists(), done.stderr
    events = [e for e in events_of(trace, tmp_path) if e["kind"] != "free" and e["addr"]]
    told = of_dhat(PROGRAMS[name], tmp_path, bare)
    seen, spare = (len(events), sum(e["size"] for e in events)), COPIES.get(name, (0, 0))
    assert all(abs(a - b) <= most for a, b, most in zip(seen, told, spare)), (seen, told)
    assert_law(trace)
