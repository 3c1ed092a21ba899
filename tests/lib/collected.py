# SPDX-License-Identifier: Apache-2.0
"""Programs with a garbage collector, and what a recording says of it."""

import json

from conftest import PROGS, ROOT, STRAIGHT, alys

SOURCES = ROOT / "tests" / "prog"
FEW = {"c_gclive": "60000"}  # the others' rounds


def liveness_of(trace):
    done = alys("info", trace)
    assert done.returncode == 0, done.stderr
    return next((line.split(None, 1)[1] for line in done.stdout.splitlines() if line.startswith("liveness")), None)


def record(trace, program, *args, options=()):
    """One recording from start to end, and what the program says."""
    words = args or [FEW.get(program, "8000")]
    done = alys("--force", "-q", "-o", trace, *options, "--", PROGS / program, *words, env=STRAIGHT)
    assert done.returncode == 0, done.stderr
    return json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
