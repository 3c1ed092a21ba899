# SPDX-License-Identifier: Apache-2.0
"""Builds the programs of these tests on demand."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
PLACE = Path(os.environ.get("BUILD", HERE.parents[1] / "build")).resolve() / "tests/strangers"


def made(out, sources, commands, env=None):
    """Builds the file in a folder of its own, again if any of its sources is newer."""
    if out.exists() and out.stat().st_mtime > max(os.stat(source).st_mtime for source in sources):
        return out
    shutil.rmtree(out.parent, ignore_errors=True)
    out.parent.mkdir(parents=True)
    for command in commands:
        done = subprocess.run(shlex.split(command), cwd=out.parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, env={**os.environ, **(env or {})})
        if done.returncode:
            out.unlink(missing_ok=True)
            raise RuntimeError(f"{command}\n{done.stdout}")
    return out
