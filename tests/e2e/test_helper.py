# SPDX-License-Identifier: Apache-2.0
"""What a library's constructors, which may be hostile, can do in the helper. The library reports it itself."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from calibration import CASE, LATE, case, in_time  # noqa: F401 (a fixture)
from conftest import ADMIN, NOBODY, TIMEOUT

pytestmark = [pytest.mark.bpf, pytest.mark.beside]

SOURCE = Path(__file__).parent / "hostile_library.c"
CAPS = ",".join("+" + name for name in ["bpf", "perfmon", "sys_ptrace", *ADMIN])
SERVICE = [*NOBODY, "--bounding-set", "-all," + CAPS, "--inh-caps", "-all," + CAPS, "--ambient-caps", CAPS, "--no-new-privs"]


@pytest.fixture(params=["root", "service"])
def who(request):
    """How the helper is started: by root, which can give it another user, or by a service that cannot."""
    return request.param


def hostile(folder, who, words=""):
    """(library, the private file of the user that starts the helper)"""
    private = folder / "private"
    private.write_text("secret")
    private.chmod(0o600)
    os.chown(private, *((0, 0) if who == "root" else (65534, 65534)))
    library = folder / "libhostile.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-fno-builtin", "-w", f'-DPRIVATE="{private}"', f'-DWORDS="{words}"',
                    f"-DFIRST_IS_ROOT={int(who == 'root')}", "-o", library, SOURCE], check=True)
    library.chmod(0o644)
    return library, private


def said(library, who, binary):
    def ask():
        done = subprocess.run([*(SERVICE if who == "service" else []), binary, library, "good"], capture_output=True, text=True, timeout=TIMEOUT)
        assert done.returncode == 0, done.stderr
        return done.stdout
    return in_time(ask, lambda text: LATE in text)


def test_a_library_can_do_nothing(public, who):
    library, private = hostile(public.folder, who)
    text = said(library, who, public(CASE))
    assert re.search(r'the loader says: " did:\."$', text), text
    assert private.read_text() == "secret" and private.stat().st_mode & 0o777 == 0o600
    assert not Path("/tmp/hostile").exists()


def test_its_words_are_quoted(public, who):
    library, _ = hostile(public.folder, who, r"\033[2J\n\rcalibrated: 9 calls agreed\042\nalys-bpf: all is well\342\200\256")
    text = said(library, who, public(CASE))
    assert text.count("\n") == 1 and "\033" not in text and "\r" not in text and "\u202e" not in text, text
    assert re.match(r"unproven \S+ not calibrated: it cannot be loaded alone; the loader says: \".*\"\n$", text), text


def in_a_root_of_its_own(folder, *command):
    """As in a container: the library lies in a mount that other processes do not see."""
    script = f'mount -t tmpfs none {folder}/inner && cp {folder}/libhostile.so {folder}/inner/ && exec "$@"'
    return ["unshare", "--mount", "sh", "-ec", script, "sh", *map(str, command)]


def test_a_library_of_elsewhere_is_not_loaded(public):
    """Its dependencies would be looked up among the host's files."""
    library, _ = hostile(public.folder, "root")
    (public.folder / "inner").mkdir()
    holder = subprocess.Popen(in_a_root_of_its_own(public.folder, "sh", "-c", f"exec 7<{public.folder}/inner/libhostile.so; echo; exec sleep infinity"),
                              stdout=subprocess.PIPE)
    try:
        assert holder.stdout.readline() == b"\n"
        text = said(f"/proc/{holder.pid}/fd/7", "root", public(CASE))
    finally:
        holder.kill()
        holder.communicate()
    assert "outside our mount namespace" in text and "the loader says" not in text, text


def test_a_deleted_library_is_not_loaded(public):
    library, _ = hostile(public.folder, "root")
    held = os.open(library, os.O_RDONLY)
    shutil.copy(library, public.folder / "copy")
    (public.folder / "copy").rename(library)
    try:
        text = said(f"/proc/{os.getpid()}/fd/{held}", "root", public(CASE))
    finally:
        os.close(held)
    assert "outside our mount namespace" in text, text
