# SPDX-License-Identifier: Apache-2.0
"""Recordings of programs with a garbage collector."""

import json

from conftest import PROGS, ROOT, STRAIGHT, alys

SOURCES = ROOT / "tests" / "prog"
FEW = {"c_gclive": "60000"}  # rounds of single programs; 8000 otherwise


def liveness_of(trace):
    done = alys("info", trace)
    assert done.returncode == 0, done.stderr
    return next((line.split(None, 1)[1] for line in done.stdout.splitlines() if line.startswith("liveness")), None)


def record(trace, program, *args, options=()):
    """Records a program from start to end; returns what it printed."""
    words = args or [FEW.get(program, "8000")]
    done = alys("--force", "-q", "-o", trace, *options, "--", PROGS / program, *words, env=STRAIGHT)
    assert done.returncode == 0, done.stderr
    return json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
