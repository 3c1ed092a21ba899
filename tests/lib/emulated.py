# SPDX-License-Identifier: Apache-2.0
"""What the cross compiler builds for arm64, and an emulated machine with one of Debian's kernels, on which it is run."""

import os
import shutil
import subprocess

import pytest

from conftest import BUILD, ROOT, make

ARM64 = BUILD.relative_to(ROOT) / "arm64"
SYSROOT = ROOT / "build" / "sysroot-arm64"
# Debian 12's kernel, and the one of Debian 13.
KERNELS = {"6.1": "", "6.12": "bookworm-backports"}
# What a busy machine may take; half of it on a quiet one.
SECONDS = 1200
# The programs of Erlang's VM.
NATIVE = ["beam.smp", "erl_child_setup", "inet_gethost"]


def prepare(*needed):
    """Fetches the libraries of arm64. Skips the test where that or one of these programs cannot be had."""
    missing = [name for name in ("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++", "mmdebstrap", *needed) if not shutil.which(name)]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    try:
        make("ARCH=arm64", SYSROOT.relative_to(ROOT))
    except subprocess.CalledProcessError:
        pytest.skip("Debian's arm64 packages cannot be fetched")


def build(emulator, *files):
    """Builds the program and these files for arm64."""
    prepare(emulator)
    make("ARCH=arm64", f"BUILD={ARM64}", "all", *files)


def boot(kernel, out, script, files):
    """Builds the files, and runs a shell script there; what it leaves in /out is in `out` afterwards."""
    build("qemu-system-aarch64", *files)
    job = out / "job"
    job.write_text(script)
    done = subprocess.run(["scripts/test-kernel", "--arch", "arm64", "run", job, out, *files], cwd=ROOT, capture_output=True, text=True,
                          errors="replace", timeout=SECONDS + 60,
                          env={**os.environ, "BUILD": str(ARM64), "KERNEL": KERNELS[kernel], "SECONDS_MAX": str(SECONDS)})
    if done.returncode == 77:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def erlang(folder):
    """Files for tests/machine-erlang: the VM, and an archive of what it loads, with a module that is compiled into the folder."""
    prepare("erlc")
    subprocess.run(["erlc", "-o", folder, ROOT / "tests/prog/erlang/words.erl"], check=True)
    root, archive = SYSROOT / "usr/lib/erlang", ARM64 / "tests/erlang.tar"
    loaded = [path.relative_to(root) for name in ("bin", "lib/kernel-*", "lib/stdlib-*") for path in root.glob(name)]
    (ROOT / archive).parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["tar", "-cf", ROOT / archive, "-C", root, *loaded, "-C", folder, "words.beam"], check=True)
    return [archive, *(path.relative_to(ROOT) for name in NATIVE for path in root.glob(f"erts-*/bin/{name}"))]
