# SPDX-License-Identifier: Apache-2.0
"""The stack walk on aarch64: Debian's kernel on an emulated machine, real probes, each stack compared with libdw's (tests/bpf/walk_test)."""

import os
import shlex
import shutil
import subprocess

import pytest

from conftest import BUILD, ROOT, make

NEEDED = ["aarch64-linux-gnu-gcc", "qemu-system-aarch64", "mmdebstrap", "cpio"]
# Debian 12's kernel, and the one of Debian 13, whose programs may sleep.
KERNELS = {"6.1": "", "6.12": "backports"}
CASES = {
    "callers": "--every 40 --time 60 --at-least 100 --complete 100 -- PROG/callers 15",
    "protected": "--every 40 --time 60 --at-least 100 --complete 100 -- PROG/callers.protected 15",
    "truncated": "--max 50 --every 40 --time 60 --at-least 100 --ended 2:300 -- PROG/callers 15",
    "signals": "--file PROG/signals --symbol hit --every 60 --time 60 --at-least 100 --complete 100 -- PROG/signals 15",
    "signals-protected": "--file PROG/signals.protected --symbol hit --every 60 --time 60 --at-least 100 --complete 100 "
                         "-- PROG/signals.protected 15",
}
PROGRAMS = ["callers", "callers.protected", "signals", "signals.protected"]
SECONDS = 900


@pytest.fixture(scope="module", params=KERNELS)
def results(request, tmp_path_factory):
    """What each case printed, and how it ended."""
    missing = [name for name in NEEDED if not shutil.which(name)]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    build, out = BUILD.relative_to(ROOT) / "arm64", tmp_path_factory.mktemp("machine")
    folder = build / "tests" / "bpf"
    files = [folder / "walk_test", *(folder / "prog" / name for name in PROGRAMS)]
    try:
        make("ARCH=arm64", "build/sysroot-arm64")
    except subprocess.CalledProcessError:
        pytest.skip("Debian's arm64 packages cannot be fetched")
    make("ARCH=arm64", f"BUILD={build}", "all", *files)
    job = out / "job"
    job.write_text("".join(f"/{folder}/walk_test {words.replace('PROG', f'/{folder}/prog')} >/out/{shlex.quote(name)} 2>&1\n"
                           f"echo status $? >>/out/{shlex.quote(name)}\n" for name, words in CASES.items()))
    done = subprocess.run(["scripts/test-kernel", "--arch", "arm64", "run", job, out, *files], cwd=ROOT, capture_output=True, text=True,
                          errors="replace", timeout=SECONDS, env={**os.environ, "BUILD": str(build), "KERNEL": KERNELS[request.param]})
    if done.returncode == 77:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.mark.parametrize("case", CASES)
def test_walks_like_libdw(results, case):
    text = (results / case).read_text()
    assert text.endswith("status 0\n"), text[-4000:]
    assert ", 0 differ" in text
