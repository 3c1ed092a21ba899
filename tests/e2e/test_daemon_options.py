# SPDX-License-Identifier: Apache-2.0
"""Unusable options of the daemon are rejected at once, with a remedy."""

import os
import re
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

from conftest import ALYS, TIMEOUT


def refused(*args, status=2):
    """The only line of output; a hang is a failure."""
    done = subprocess.run([ALYS, "daemon", *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == status, (done.returncode, done.stderr)
    assert re.fullmatch(r"alys-bpf: .+\n", done.stderr), done.stderr
    return done.stderr


@pytest.fixture
def place():
    """A directory that every user can access."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def make(place, kind):
    path = place / "conf"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "socket":
        socket.socket(socket.AF_UNIX).bind(str(path))
    elif kind == "device":
        return Path("/dev/zero")
    elif kind == "KiB":
        with open(path, "wb") as f:
            f.truncate(1 << 40)
    elif kind == "NUL":
        path.write_bytes(b"all\n" + bytes(1000))
    return path


@pytest.mark.parametrize("kind", ["pipe", "directory", "socket", "device", "KiB", "NUL"])
def test_config_that_is_no_list_of_options(place, kind):
    path = make(place, kind)
    said = refused("--config", path)
    assert "--config" in said and str(path) in said and kind in said, said


@pytest.mark.parametrize("line, said", [
    ("bogus = 1", "unknown option --bogus"), ("sample = x", "--sample wants bytes:N"), ("listen", "--listen"),
    ("alloc = pool_alloc(sizes=2)", "--alloc wants [FILE:]FUNCTION("),
])
def test_a_line_that_is_refused_is_named(place, line, said):
    path = place / "alys-bpf.conf"
    path.write_text(f"# first\nall\n{line}\nquiet\n")
    told = refused("--config", path)
    assert f"{path}:3: {said}" in told, told


def test_config_that_is_not_there(place):
    assert "No such file" in refused("--config", place / "none")


def test_long_lines_of_a_config_are_whole(place):
    """A name of 5000 letters is one option, not two lines."""
    path = place / "conf"
    path.write_text("socket " + "x" * 5000 + "\noff\n")
    assert "--socket xxx" in refused("--config", path, status=1)


@pytest.mark.bpf
@pytest.mark.beside
def test_directory_of_somebody_else(place):
    """The command given in the message fixes the error."""
    folder = place / "profiles"
    folder.mkdir(mode=0o755)
    said = refused("--off", "--socket", place / "ctl", "--profile-dir", folder, status=1)
    command = re.search(r"cannot write there: `(.*?)` as root", said)
    assert command and str(folder) in command.group(1), said
    subprocess.run(command.group(1).split(), check=True)
    assert folder.stat().st_uid != 0
    folder.chmod(0o500)
    said = refused("--off", "--socket", place / "ctl", "--profile-dir", folder, status=1)
    command = re.search(r"cannot write there: `(chmod .*?)` as root", said)
    subprocess.run(command.group(1).split(), check=True)
    proc = subprocess.Popen([ALYS, "daemon", "--off", "--socket", place / "ctl", "--profile-dir", folder], stderr=subprocess.PIPE,
                            text=True)
    try:
        assert "daemon " in proc.stderr.readline()
    finally:
        proc.terminate()
        proc.communicate(timeout=TIMEOUT)


@pytest.mark.bpf
@pytest.mark.beside
def test_directory_that_cannot_be_made(place):
    folder = place / "a/b/profiles"
    said = refused("--off", "--socket", place / "ctl", "--profile-dir", folder, status=1)
    subprocess.run(re.search(r"`(install .*?)`", said).group(1).split(), check=True)
    assert folder.is_dir() and folder.stat().st_uid != 0
