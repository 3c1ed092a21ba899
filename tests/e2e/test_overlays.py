# SPDX-License-Identifier: Apache-2.0
"""A file shared by containers is one inode to the kernel: one set of probes, and each call is counted once."""

import ctypes
import re
import struct
import subprocess

import pytest

from conftest import PROGS, assert_law, ledger

pytestmark = [pytest.mark.bpf, pytest.mark.beside]
NAME_TO_HANDLE_AT = 303
PR_SET_SECCOMP, MODE_FILTER = 22, 2
ALLOW, ERRNO = 0x7fff0000, 0x50000
EOPNOTSUPP = 95


def refuse_handles():
    """Makes file handles fail for this process and its children, as a seccomp filter or an older kernel's overlay does."""
    code = [(0x20, 0, 0, 0), (0x15, 0, 1, NAME_TO_HANDLE_AT), (6, 0, 0, ERRNO | EOPNOTSUPP), (6, 0, 0, ALLOW)]
    filters = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in code))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(code), ctypes.addressof(filters)))
    if ctypes.CDLL(None).prctl(PR_SET_SECCOMP, MODE_FILTER, program, 0, 0):
        raise OSError("no filter")


@pytest.fixture(params=["told", "not told"])
def knowing(request):
    """Whether the system reports which file an overlay shows."""
    return {} if request.param == "told" else {"preexec_fn": refuse_handles}


def in_mount_namespace(started, layer, place):
    """Runs a program as in a container: nobody else sees its overlay."""
    mount = f"mount -t tmpfs none {place} && mkdir {place}/root {place}/none && " \
            f"mount -t overlay -o lowerdir={place}/none:{layer} none {place}/root && exec {place}/root/c_static"
    return started.program("/usr/bin/unshare", "--mount", "/bin/sh", "-c", mount).wait_ready()


def plain_calls(truth):
    return sum(site["allocs"] for site in truth["sites"].values())


def assert_each_once(started, tmp_path, programs, knowing, *args):
    tracer = started.tracer("-p", ",".join(str(p.pid) for p in programs), *args, "-o", tmp_path / "t.alys",
                            **knowing).recording()
    truths = [program.go().truths()[0] for program in programs]
    for program in programs:
        program.finish()
    assert tracer.wait() == 0, tracer.text
    book = assert_law(tmp_path / "t.alys")
    calls = sum(map(plain_calls, truths))
    assert calls <= book.rows["recorded-alloc"] <= calls + 20 * len(programs), book
    return tracer.text


@pytest.mark.parametrize("args", [(), ("--follow",)], ids=["links of their own", "shared links"])
def test_overlays_and_their_layer(overlays, started, tmp_path, knowing, args):
    folders = overlays(PROGS / "c_static")
    programs = [started.program(str(folder / "c_static")).wait_ready() for folder in folders]
    assert_each_once(started, tmp_path, programs, knowing, *args)
    # Shared links serve all of them. That is right while they map one file, and then no message appears.
    guessed = knowing and args
    assert ledger(tmp_path / "t.alys").rows.get("files-alike", 0) == (len(folders) - 1 if guessed else 0)


@pytest.mark.parametrize("args", [(), ("--follow",)], ids=["links of their own", "shared links"])
def test_containers_with_mounts_of_their_own(started, tmp_path, knowing, args):
    layer = tmp_path / "layer"
    layer.mkdir()
    subprocess.run(["cp", PROGS / "c_static", layer], check=True)
    places = [tmp_path / name for name in ("one", "two", "three")]
    for place in places:
        place.mkdir()
    programs = [in_mount_namespace(started, layer, place) for place in places]
    assert_each_once(started, tmp_path, programs, knowing, *args)


def test_another_file_of_the_same_size_is_another(overlays, started, tmp_path, knowing):
    """A file of the same size but other contents is not taken for the same file."""
    folders = overlays(PROGS / "c_static")
    other = tmp_path / "c_static"
    subprocess.run(["cp", "--preserve=timestamps", PROGS / "c_static", other], check=True)
    programs = [started.program(str(path)).wait_ready() for path in (folders[1] / "c_static", other)]
    text = assert_each_once(started, tmp_path, programs, knowing, "--follow")
    assert len(re.findall(r"c_static: \d+ functions probed", text)) == 2, text
