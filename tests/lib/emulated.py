# SPDX-License-Identifier: Apache-2.0
"""An emulated arm64 machine with one of Debian's kernels, on which what the cross compiler built is run."""

import os
import shutil
import subprocess

import pytest

from conftest import BUILD, ROOT, make

ARM64 = BUILD.relative_to(ROOT) / "arm64"
NEEDED = ["aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++", "qemu-system-aarch64", "mmdebstrap", "cpio"]
# Debian 12's kernel, and the one of Debian 13.
KERNELS = {"6.1": "", "6.12": "backports"}
SECONDS = 900


def boot(kernel, out, script, files):
    """Builds the files, and runs a shell script there; what it leaves in /out is in `out` afterwards."""
    missing = [name for name in NEEDED if not shutil.which(name)]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    try:
        make("ARCH=arm64", "build/sysroot-arm64")
    except subprocess.CalledProcessError:
        pytest.skip("Debian's arm64 packages cannot be fetched")
    make("ARCH=arm64", f"BUILD={ARM64}", "all", *files)
    job = out / "job"
    job.write_text(script)
    done = subprocess.run(["scripts/test-kernel", "--arch", "arm64", "run", job, out, *files], cwd=ROOT, capture_output=True, text=True,
                          errors="replace", timeout=SECONDS, env={**os.environ, "BUILD": str(ARM64), "KERNEL": KERNELS[kernel]})
    if done.returncode == 77:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    return out
