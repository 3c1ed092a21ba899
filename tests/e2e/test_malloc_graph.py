# SPDX-License-Identifier: Apache-2.0
"""
Who leads to blocks of glibc's malloc: against a program that knows its edges and roots, its dump, damaged heaps, processes that
end, and Debian's programs as they are.
"""
import json
import os
import signal
import subprocess
import time

import pytest

from conftest import ALYS, PROGS, ROOT, TIMEOUT, alys

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="not root: may not read other processes")

NOTHING = 3
INVERTED = (1 << 64) - 1


def told(program):
    """Addresses by name."""
    lines = iter(program.line, "ready")
    return {name: int(address, 16) for name, address in map(str.split, lines)}


def holder(started, blocks=1, *args, path="cpp_holds"):
    """The program, and the addresses that it tells."""
    program = started.program(path, str(blocks), *args)
    where = told(program)
    where["lost"] ^= INVERTED
    return program, where


def drawing(source, *args):
    done = alys("graph", *source, "-f", "json", "--paths", *args)
    assert done.returncode == 0 and "conservative: any word" in done.stderr, done.stderr
    answer = json.loads(done.stdout)
    assert answer["conservative"] and answer["live"] == "in use"
    return answer


def of(program, address, *args):
    return drawing(("-p", program.pid), "--object", hex(address), *args)


def steps(answer, where):
    """Each edge to a block, by names: from, offset, to, how it points there."""
    names = {at: name for name, at in where.items()}
    return {(names.get(int(e["from"], 16), e["holder"]), e["offset"], names.get(int(e["to"], 16)), e["points"])
            for e in answer["edges"] if e["level"] == 0}


@pytest.mark.parametrize("freeze", [(), ("--freeze",)], ids=["running", "frozen"])
def test_known_structure(started, freeze):
    program, where = holder(started, 10)
    want = {
        "box": {("owner", 8, "box", "start")},
        "array": {("owner", 16, "array", "inside")},
        "large": {("owner", 24, "large", "start")},
        "found": {("large", 65536, "found", "start")},
        "leaf": {("(56 bytes)", 40, "leaf", "start")},
        "owner": {("(56 bytes)", 8, "owner", "inside")},  # the map's node leads to the map
        "lost": set(), "mine": set(), "held": set(), "theirs": set(), "first": set(),
    }
    for name, edges in want.items():
        answer = of(program, where[name], *freeze)
        assert steps(answer, where) == edges, name
        assert answer["approximate"] == (not freeze) and answer["unreadable"] == 0
        assert all(e["conservative"] for e in answer["edges"])
    program.proc.stdin.write(b"x\n")
    program.proc.stdin.flush()
    assert program.line() == "alive"


def test_roots(started):
    program, where = holder(started, 10, "busy")

    def root(name, *args):
        paths = of(program, where[name], "--freeze", *args)["paths"]
        return paths[0]["root"] if paths else None

    assert root("owner")["name"] == root("leaf")["name"] == "global zoo::registry" and root("owner")["conservative"]
    assert root("first")["name"] == "global zoo::chain"
    assert root("lost") is None
    assert root("mine")["kind"] == "anonymous memory"  # thread-local variables of the main thread
    assert root("held")["kind"] == root("theirs")["kind"] == "stack" and root("held")["thread"] == root("theirs")["thread"] != program.pid
    assert root("kept")["kind"] == "registers" and root("kept")["name"].startswith("register of thread")
    way = of(program, where["found"], "--freeze")["paths"][0]["steps"]
    assert [(int(s["from"], 16), int(s["to"], 16)) for s in way] == [
        (where["owner"], where["large"]), (where["large"], where["found"])]


def test_by_class_and_size(started, tmp_path):
    """Also of a stripped program: classes by RTTI, variables by the file's name."""
    stripped = tmp_path / "cpp_holds"
    subprocess.run(["strip", "-o", stripped, PROGS / "cpp_holds"], check=True)
    program, where = holder(started, 40, path=str(stripped))
    pid = ("-p", program.pid)
    assert [int(o["address"], 16) for o in drawing(pid, "--type", "zoo::Leaf")["objects"] if o["target"]] == [where["leaf"]]
    leaf = drawing(pid, "--type", "Leaf", "--freeze")
    assert leaf["paths"][0]["root"]["name"].startswith(f"global {stripped}+0x")
    chain = drawing(pid, "--type", "(40 bytes)", "--limit", "0", "--freeze")
    links = [e for e in chain["edges"] if e["holder"] == "(40 bytes)"]
    assert len([o for o in chain["objects"] if o["target"]]) == 40 and len(links) == 39 and {e["offset"] for e in links} == {16}
    assert max(len(p["steps"]) for p in chain["paths"]) == 39
    few = drawing(pid, "--type", "(40 bytes)", "--limit", "3")
    assert len([o for o in few["objects"] if o["target"]]) == 3
    counts = alys("graph", *pid, "--show", "counts", "-q").stdout.splitlines()
    assert "40\t(40 bytes)" in counts and "1\tzoo::Owner" in counts
    assert int(alys("graph", *pid, "--freeze", "-q", "--size", hex(where["first"])).stdout) == 40 * 40
    wrong = alys("graph", *pid, "--type", "zoo::Leef")
    assert wrong.returncode == NOTHING and "nearest: zoo::Leaf" in wrong.stderr, wrong.stderr
    wrong = alys("graph", *pid, "--type", "(4711 bytes)")
    assert wrong.returncode == NOTHING and "no type (4711 bytes) in process" in wrong.stderr, wrong.stderr
    wrong = alys("graph", *pid, "--object", "0x1000")
    assert wrong.returncode == NOTHING and "no block in use at 0x1000" in wrong.stderr, wrong.stderr
    wrong = alys("graph", *pid, "--malloc", "--live", "marked", "--show", "counts")
    assert wrong.returncode == 2 and "are for collected heaps" in wrong.stderr, wrong.stderr


def test_rust(started, tmp_path):
    source, binary = ROOT / "tests" / "prog" / "holds.rs", tmp_path / "holds"
    subprocess.run(["/usr/bin/rustc", "--edition", "2021", "-O", "-g", "-o", binary, source], check=True, capture_output=True, timeout=TIMEOUT)
    program = started.program(str(binary))
    where = told(program)
    where["shared"] -= 16
    for name, offset in ("leaf", 0), ("text", 8), ("shared", 16):
        assert steps(of(program, where[name], "--freeze"), where) == {("owner", offset, name, "start")}
    assert of(program, where["owner"], "--freeze")["paths"][0]["root"]["name"] == "global holds::REGISTRY"
    by_size = drawing(("-p", program.pid), "--type", "(104 bytes)", "--limit", "0", "--freeze")["objects"]
    assert where["leaf"] in [int(o["address"], 16) for o in by_size if o["target"]]
    program.kill()


def test_drawings_say_that_they_are_guesses(started):
    program, _ = holder(started)
    mermaid = alys("graph", "-p", program.pid, "--type", "Animal", "--paths", "--freeze").stdout.splitlines()
    assert mermaid[:2] == ["graph LR", "  %% conservative: any word that could be an address of a block counts"]
    assert any(line.endswith('(["global zoo::registry"]) -.-> ' + mermaid[-1].split()[-1]) for line in mermaid), mermaid
    array = alys("graph", "-p", program.pid, "--type", "(200 bytes)").stdout
    assert "zoo::Owner\"] --@(field 16) inside,0-->" in array, array
    dot = alys("graph", "-p", program.pid, "--type", "Animal", "-f", "dot", "--paths").stdout
    assert 'label="conservative: ' in dot and dot.count("style=dashed") == dot.count(" -> ") > 0, dot


def test_dump_has_the_same(started, tmp_path):
    program, where = holder(started, 10)
    path = tmp_path / "heap.alys"
    done = alys("dump", "-p", program.pid, "--freeze", "-o", path)
    assert done.returncode == 0 and "conservative" in done.stderr, done.stderr
    for name in ("leaf", "array", "mine", "held"):
        there, here = of(program, where[name], "--freeze"), drawing((path,), "--object", hex(where[name]))
        assert all(here[k] == there[k] for k in ("objects", "edges", "paths"))
    rows = json.loads(alys("report", "--by", "type", "-f", "json", path).stdout)["rows"]
    assert {"zoo::Owner", "zoo::Leaf", "zoo::Animal", "(40 bytes)"} <= {row["type"] for row in rows}


def test_damaged_heap_and_process_that_ends(started, tmp_path):
    program = started.program("c_malloc", "5", "1")
    program.line()
    program.proc.stdin.write(b"b")
    program.proc.stdin.flush()
    program.line()
    for verb in (("graph", "--show", "counts"), ("dump", "-o", tmp_path / "no.alys")):
        done = alys(*verb, "-p", program.pid, "--freeze")
        assert done.returncode == 1 and "its heap is damaged: process" in done.stderr, done.stderr
        assert len(done.stderr.splitlines()) == 1 and not (tmp_path / "no.alys").exists(), done.stderr
    program.proc.stdin.write(b"x")
    program.proc.stdin.flush()
    assert json.loads(program.line())["arena"] > 0
    program.kill()
    done = alys("graph", "-p", program.pid, "--show", "counts")
    assert done.returncode == NOTHING and len(done.stderr.splitlines()) == 1, done.stderr


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_one_that_ends_midway_leaves_the_program_as_it_was(started, how):
    program, where = holder(started, 300000)
    for delay in (0.01, 0.03, 0.06, 0.1, 0.2):
        running = subprocess.Popen([ALYS, "graph", "-p", str(program.pid), "--freeze", "--type", "Leaf"], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        time.sleep(delay)
        running.send_signal(how)
        running.wait(20)
        program.proc.stdin.write(b"x\n")
        program.proc.stdin.flush()
        assert program.line() == "alive"
    assert steps(of(program, where["leaf"], "--freeze"), where) == {("(56 bytes)", 40, "leaf", "start")}


def test_program_that_dies_while_it_is_read(started):
    for delay in (0.0, 0.02, 0.05, 0.1):
        program, _ = holder(started, 300000)
        running = subprocess.Popen([ALYS, "graph", "-p", str(program.pid), "--show", "counts"], text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        time.sleep(delay)
        program.kill()
        _, err = running.communicate(timeout=30)
        assert running.returncode in (0, NOTHING), err
        assert len(err.splitlines()) == 1, err


SCRIBBLER = """
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
    static void *kept[20000];
    srandom(atoi(argv[1]));
    for (int i = 0; i < 20000; i++) kept[i] = malloc(random() % 2000);
    for (int i = 0; i < 20000; i += 3) free(kept[i]);
    uintptr_t low = (uintptr_t)kept[1], high = (uintptr_t)sbrk(0);
    for (int i = 0; i < atoi(argv[2]); i++) {
        uint64_t *at = (uint64_t *)((low + random() % (high - low)) & ~7ul);
        switch (random() % 4) {
        case 0: *at = (uint64_t)random() << 33 ^ random(); break;
        case 1: *at = random() % 4000; break;
        case 2: *at = low + random() % (high - low); break;
        case 3: *at = (uint64_t)-1; break;
        }
    }
    write(1, "ready\\n", 6);
    char byte;
    return read(0, &byte, 1) == 1 && write(1, "alive\\n", 6) != 6;
}
"""


@pytest.mark.parametrize("words", [1, 300, 100000])
def test_heaps_full_of_rubbish(started, tmp_path, words):
    """Each verb ends, with an answer or one sentence, and the program goes on."""
    (tmp_path / "scribbler.c").write_text(SCRIBBLER)
    subprocess.run(["gcc", "-w", "-O1", "-o", tmp_path / "scribbler", tmp_path / "scribbler.c"], check=True)
    for seed in range(2):
        program = started.program(str(tmp_path / "scribbler"), str(seed), str(words)).wait_ready()
        for verb in (["graph", "--show", "sizes"], ["graph", "--type", "(24 bytes)", "--paths", "--freeze", "-f", "json"],
                     ["dump", "--force", "-o", tmp_path / "heap.alys"], ["census"], ["census", "--heap", "--freeze"]):
            done = alys(*verb, "-p", program.pid)
            assert done.returncode in (0, 1, NOTHING) and "killed" not in done.stderr, done.stderr
            assert done.returncode == 0 or len(done.stderr.splitlines()) <= 2, done.stderr
        program.proc.stdin.write(b"x")
        program.proc.stdin.flush()
        assert program.line() == "alive"
