# SPDX-License-Identifier: Apache-2.0
"""Runs the transcripts of the documentation: the output must have the same form."""

import os
import re
import shutil
import subprocess

import pytest

from conftest import BUILD, DEMO, ROOT, TIMEOUT, Program, Tracer, alys

pytestmark = [pytest.mark.bpf, pytest.mark.beside]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
READING = re.compile(r"\b(objects|server|heap)\.alys\b")


def transcripts(page):
    """(command, lines of output) of each command that needs no root."""
    for block in re.findall(r"(?:^    .*\n|^\n)+", page.read_text(), re.M):
        command, said = None, []
        for line in [*(line[4:] for line in block.splitlines()), "$ "]:
            if not line.startswith(("$ ", "# ")):
                said.append(line)
                continue
            if command and READING.search(command):
                yield command, [s for s in said if s]
            command, said = line[2:] if line.startswith("$ ") and "sudo" not in line else None, []


def form(line):
    """The text without what depends on quantities: numbers and the width of columns."""
    line = re.sub(r"0x[0-9a-f]+|[+-]?\d[\d,.]*", "N", line)
    return " ".join(re.sub(r"-{2,}:?", "--", line).split())


def dump_of_holders(out):
    holders = Program([DEMO / "holders.debug"])
    try:
        holders.wait_ready()
        return alys("dump", "-p", holders.pid, "-o", out, "--freeze")
    finally:
        holders.kill()


def recording_of_server(out):
    server = Program([DEMO / "server", "0"])
    try:
        url = "http://" + server.line().split()[-1]
        tracer = Tracer(["-p", server.pid, "-o", out]).recording()
        subprocess.run(["wrk", "-t1", "-c4", "-d2", url + "/page/3"], check=True, capture_output=True, timeout=TIMEOUT)
        return tracer.stop()
    finally:
        server.kill()


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    """objects.alys, server.alys and heap.alys, recorded as in the documentation, and the demo programs on the PATH."""
    folder = tmp_path_factory.mktemp("docs")
    (folder / "build").symlink_to(BUILD)
    (folder / "bin").mkdir()
    for name in ("alys-bpf", "alys_converter"):
        (folder / "bin" / name).symlink_to(BUILD / name)
    for done in (alys("-o", folder / "objects.alys", "--", DEMO / "objects.debug"), dump_of_holders(folder / "heap.alys")):
        assert done.returncode == 0, done.stderr
    recording_of_server(folder / "server.alys")
    return folder


COMMANDS = [(page.name, command, said) for page in PAGES for command, said in transcripts(page)]


def test_there_are_transcripts():
    assert len(COMMANDS) > 15
    assert {"objects.alys", "server.alys", "heap.alys"} <= {READING.search(c).group() for _, c, _ in COMMANDS}


@pytest.mark.parametrize("page, command, said", COMMANDS,
                         ids=lambda v: v[:40] if isinstance(v, str) else "")
def test_transcript(traces, page, command, said):
    if "go tool" in command and not shutil.which("go"):
        pytest.skip("no go")
    env = {**os.environ, "PATH": f"{traces}/bin:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=TIMEOUT, cwd=traces, env=env)
    assert done.returncode == 0, done.stderr
    out = [line for line in done.stdout.splitlines() if line]
    assert form(out[0]) == form(said[0]), command
    # The number of lines for a server depends on its load.
    if "[...]" not in said and "server.alys" not in command:
        assert len(out) == len(said), done.stdout
