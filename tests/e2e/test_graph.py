# SPDX-License-Identifier: Apache-2.0
"""
The object graph of collected heaps, read from outside: MemProf's documented examples in programs built without a
profiler, a C program whose edges are all known, and what must never happen to a process that is frozen for it.
"""
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import ALYS, PROGS, Program

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="not root: may not read other processes")

# As MemProf's documentation prints it, but for the addresses.
DOCUMENTED = """\
graph LR
  0x109736e80["0x109736e80 C"]
  0x109736e70["0x109736e70 C"]
  0x10972fe40["0x10972fe40 B"] --@c,0--> 0x109736e80
  0x10972fe20["0x10972fe20 (class 0)"] --@(field 0),1--> 0x10972fe40
  0x10972fe60["0x10972fe60 Array(B)"] --@(field 16),2--> 0x10972fe20
  0x10972fe80["0x10972fe80 A"] --@bs,3--> 0x10972fe60
  0x10972fe00["0x10972fe00 B"] --@c,0--> 0x109736e70
  0x10972fe20["0x10972fe20 (class 0)"] --@(field 8),1--> 0x10972fe00
"""
FIELDS = PROGS / "graph.fields"


def alys(*args, timeout=60):
    return subprocess.run([str(ALYS), *map(str, args)], capture_output=True, text=True, timeout=timeout)


def ask(*args):
    done = alys(*args)
    assert done.returncode == 0, done.stderr
    return done.stdout


def numbered(graph):
    """Addresses replaced by their order of appearance, so that graphs of equal shape and order are equal."""
    seen = {}
    return re.sub(r"0x[0-9a-f]+", lambda m: seen.setdefault(m[0], f"#{len(seen)}"), graph)


@pytest.fixture
def programs():
    started = []

    def start(name, *args, **env):
        started.append(Program([PROGS / name, *args], env))
        return started[-1]

    yield start
    for p in started:
        p.kill()


def told(program):
    """The addresses that the program prints before "ready": {name: [addresses]}."""
    found = {}
    while (line := program.line()) != "ready":
        name, address = line.rsplit(" ", 1)
        found.setdefault(name, []).append(int(address, 16))
    return found


def obey(program, word):
    program.proc.stdin.write(word.encode() + b"\n")
    program.proc.stdin.flush()
    return program.line()


def crystal(programs, variant, **env):
    program = programs(f"graph.{variant}", **env)
    return program, told(program), PROGS / f"graph.{variant}.types"


def table(text):
    lines = text.splitlines()
    assert int(lines[0]) == len(lines) - 1
    return {name: int(n) for n, name in (line.split("\t") for line in lines[1:])}


# --- the documented examples ------------------------------------------------------------------------

@pytest.mark.parametrize("freeze", [(), ("--freeze",)], ids=["running", "frozen"])
@pytest.mark.parametrize("variant", ["debug", "release", "staticgc", "fields", "mt"])
def test_documented_graph(programs, variant, freeze):
    program, where, types = crystal(programs, variant, FOOS="10")
    graph = ask("graph", "-p", program.pid, "--type", "C", "--type-ids", types, "--fields", FIELDS, *freeze)
    # The build with field names finds one more than MemProf did.
    assert numbered(graph).replace("@buffer", "@(field 16)") == numbered(DOCUMENTED)
    assert [int(a, 16) for a in re.findall(r"^  (0x[0-9a-f]+)\[.* C\"\]$", graph, re.M)] == where["C"]
    assert f'0x{where["A"][0]:x}["0x{where["A"][0]:x} A"] --@bs,3-->' in graph
    assert obey(program, "go on") == "done"


def test_stripped(programs, tmp_path):
    """A collector linked into a program that has no symbols but the exported ones."""
    bare = tmp_path / "bare"
    subprocess.run(["strip", "-o", bare, PROGS / "graph.staticgc"], check=True)
    program = programs(bare, FOOS="10")
    told(program)
    graph = ask("graph", "-p", program.pid, "--type", "C", "--type-ids", PROGS / "graph.debug.types", "--fields", FIELDS)
    assert numbered(graph).replace("@buffer", "@(field 16)") == numbered(DOCUMENTED)


def test_threads_that_run_and_collect(programs):
    """Four threads switch fibers and allocate garbage all the time; the path is found each time."""
    program, _, types = crystal(programs, "mt", FOOS="2000", SPIN="1")
    for freeze in ((), ("--freeze",)) * 3:
        args = ("graph", "-p", program.pid, "--type-ids", types, "--fields", FIELDS, *freeze)
        graph = ask(*args, "--type", "C")
        assert numbered(graph).replace("@buffer", "@(field 16)") == numbered(DOCUMENTED)
        foos = table(ask(*args, "--show", "counts"))["Foo"]
        # Stale words on the stacks of threads that ran keep garbage alive, too, and there is far more garbage.
        assert 2000 <= foos <= (2100 if freeze else 5000)
    assert obey(program, "go on") == "done"


@pytest.mark.parametrize("variant", ["debug", "release", "mt"])
def test_stacks_of_fibers_that_sleep(programs, variant):
    program, _, types = crystal(programs, variant, FOOS="10", FIBERS="700")
    args = ("graph", "-p", program.pid, "--type-ids", types, "--freeze")
    counts = table(ask(*args, "--show", "counts"))
    assert counts["OnStack"] == 700 and counts["Fiber"] >= 702
    way = json.loads(ask(*args, "--type", "OnStack", "--limit", "1", "--paths", "-f", "json"))["paths"][0]
    assert way["root"]["kind"] == "fiber stack" and way["root"]["conservative"] and way["steps"] == []


def test_graph_without_names_of_fields(programs):
    program, _, types = crystal(programs, "debug", FOOS="10")
    graph = ask("graph", "-p", program.pid, "--type", "C", "--type-ids", types)
    assert numbered(graph) == numbered(re.sub(r"@(c|bs)\b", "@(field 8)", DOCUMENTED))


def test_levels_and_limit(programs):
    program, where, types = crystal(programs, "debug", FOOS="10")
    args = ("graph", "-p", program.pid, "--type", "C", "--type-ids", types, "--fields", FIELDS)
    two = ask(*args, "--levels", "2", "--limit", "1")
    assert numbered(two) == numbered("".join(DOCUMENTED.splitlines(True)[i] for i in (0, 1, 3, 4)))
    env = {**os.environ, "MEMPROF_REF_LEVEL": "1"}
    one = subprocess.run([str(ALYS), *map(str, args)], capture_output=True, text=True, env=env, timeout=60).stdout
    assert len(one.splitlines()) == 5


def test_limit_0_is_unlimited(programs):
    program, _, types = crystal(programs, "debug", FOOS="30")

    def drawn(*args, **env):
        done = subprocess.run([str(ALYS), "graph", "-p", str(program.pid), "--type", "Foo", "--type-ids", str(types), *args],
                              capture_output=True, text=True, env={**os.environ, **env}, timeout=60)
        assert done.returncode == 0, done.stderr
        return len(re.findall(r'^  0x[0-9a-f]+\["0x[0-9a-f]+ Foo"\]$', done.stdout, re.M))

    assert (drawn(), drawn("--limit", "3"), drawn("--limit", "0")) == (10, 3, 30)
    assert (drawn(MEMPROF_REF_LIMIT="7"), drawn(MEMPROF_REF_LIMIT="0")) == (7, 30)


def test_levels_0_is_unlimited(programs):
    """In a chain of twenty objects, each refers to the next two: the shortest path has ten steps, not nineteen."""
    program = programs("c_graph", "20")
    first = told(program)["chain0"][0]

    def levels(*args):
        return sorted({edge["level"] for edge in drawing(program, first, *args)["edges"]})

    assert levels() == list(range(5)) and levels("--levels", "7") == list(range(7))
    assert levels("--levels", "0") == list(range(10))
    way = drawing(program, first)["paths"][0]
    assert way["root"]["name"] == "global root_chain" and len(way["steps"]) == 10


@pytest.mark.parametrize("verb", ["graph", "dump"])
@pytest.mark.parametrize("freeze", [(), ("--freeze",)])
@pytest.mark.parametrize("name", ["c_markers", "c_markers_static"])
def test_marker_threads_are_no_roots(programs, tmp_path, name, verb, freeze):
    """Marker threads' stacks still hold objects that are unreachable now. A thread of the program may have the same name."""
    program = programs(name, GC_MARKERS="4")
    said = {name: value for name, value in (line.split() for line in iter(program.line, "ready"))}
    names = {path.parent.name: path.read_text().strip() for path in Path(f"/proc/{program.pid}/task").glob("*/comm")}
    assert said["markers"] == "3" and names.pop(said["named"]) == "GC-marker-9"
    assert sorted(names.values()) == ["GC-marker-0", "GC-marker-1", "GC-marker-2", name[:15]]
    if verb == "dump":
        source = tmp_path / "heap.alys"
        text = alys("dump", "-p", program.pid, "-o", source, *freeze).stderr
        way = ("graph", source)
    else:
        way = ("graph", "-p", program.pid, *freeze)
        text = alys(*way, "--show", "counts").stderr
    # Stale words on the program's own stacks hold a few nodes of the tree; the marker threads' stacks hold two hundred.
    assert int(re.search(r"([\d,]+) live objects", text)[1].replace(",", "")) <= 20, text
    path = json.loads(ask(*way, "--object", said["held"], "--paths", "-f", "json"))["paths"][0]
    assert path["root"]["name"].startswith(f"stack of thread {said['named']} at "), path


@pytest.mark.parametrize("verb", ["graph", "dump"])
def test_a_collector_inside_the_program_changes_no_count(programs, tmp_path, verb):
    """
    The collector's variables lie among the program's. Free slots in its lists must not be live, and the program's objects
    must not be dead. Without symbols a stale word among them may keep a free slot, which the output says.
    """
    counts = []
    bare = tmp_path / "bare"
    subprocess.run(["strip", "-o", bare, PROGS / "graph.staticgc"], check=True)
    for variant in ("debug", "staticgc", "bare"):
        program = programs(bare if variant == "bare" else f"graph.{variant}", FOOS="20000")
        told(program)
        ids = PROGS / f"graph.{'staticgc' if variant == 'bare' else variant}.types"
        way = ("-p", program.pid, "--freeze", "--type-ids", ids)
        text = alys("graph", "--show", "counts", *way).stderr
        assert ("its collector's variables have no names" in text) == (variant == "bare"), text
        if verb == "dump":
            text = alys("dump", "-o", tmp_path / f"{variant}.alys", *way).stderr
            assert ("its collector's variables have no names" in text) == (variant == "bare"), text
            way = (tmp_path / f"{variant}.alys",)
        rows = [line.split("\t") for line in ask("graph", "--show", "counts", *way).splitlines()[1:]]
        counts.append({name: int(n) for n, name in rows})
        text = alys("graph", "--show", "counts", *way).stderr
        counts[-1]["all"] = int(re.search(r"([\d,]+) live objects", text)[1].replace(",", ""))
    # An object without a type may be kept by a stale word on the stack, in each of them.
    everything = [kinds.pop("all") for kinds in counts]
    assert max(everything) - min(everything) <= 1
    assert counts[0] == counts[1] == counts[2] and counts[0]["Foo"] == 20000 and counts[0]["IO::FileDescriptor"] >= 3


def test_many_types_of_one_name(programs, tmp_path):
    """The last part of a name selects all types that end in it."""
    program, _, types = crystal(programs, "debug", FOOS="30")
    foo = int(re.search(r"\{\d+ - (\d+)\}: Foo$", types.read_text(), re.M)[1])
    ids = [n for n in range(10000, 10300)] + [foo]
    (tmp_path / "ids").write_text("".join(f"{{{n} - {n}}}: M{n}::Foo\n" for n in ids))
    graph = ask("graph", "-p", program.pid, "--type", "Foo", "--type-ids", tmp_path / "ids", "--limit", "0")
    assert len(re.findall(rf' M{foo}::Foo"\]$', graph, re.M)) == 30


def test_counts_and_sizes(programs):
    program, where, types = crystal(programs, "debug")
    args = ("graph", "-p", program.pid, "--type-ids", types, "--fields", FIELDS, "--freeze")
    counts, sizes = table(ask(*args, "--show", "counts")), table(ask(*args, "--show", "sizes"))
    assert (counts["Foo"], counts["A"], counts["B"], counts["C"], counts["Array(Foo)"]) == (100000, 1, 2, 2, 1)
    # 4 bytes a Foo, as MemProf has them; the array's buffer in whole pages of the collector.
    assert sizes["Foo"] == 400000 and sizes["C"] == 8 and sizes["B"] == 40
    assert 24 + 800000 + 400000 <= sizes["Array(Foo)"] < 24 + 800000 + 400000 + 8192
    size = int(ask(*args, "--size", hex(where["Array(Foo)"][0])))
    assert size == sizes["Array(Foo)"]
    assert int(ask(*args, "--size", "0x1000")) == 0
    assert obey(program, "truncate") == "done"
    # The collector may take a word for an address; MemProf's example is left with 1,184.
    assert 1000 <= table(ask(*args, "--show", "counts"))["Foo"] <= 1200
    assert 1000 <= table(ask(*args, "--live", "marked", "--show", "counts"))["Foo"] <= 1200


def test_reached_is_what_the_collector_marks(programs):
    """Right after a collection, what is reachable equals what the collector marked: the roots are the same."""
    program, _, types = crystal(programs, "debug", FOOS="5000")
    assert obey(program, "truncate") == "done"
    args = ("graph", "-p", program.pid, "--type-ids", types, "--freeze", "--show", "counts")
    reached, marked = table(ask(*args)), table(ask(*args, "--live", "marked"))
    differ = {t: (reached.get(t, 0), marked.get(t, 0)) for t in {*reached, *marked} if reached.get(t) != marked.get(t)}
    # Strings that it has made since, to print "done".
    assert sum(abs(r - m) for r, m in differ.values()) <= 8, differ


# --- a structure that is known ------------------------------------------------------------------------

def drawing(program, address, *args):
    return json.loads(ask("graph", "-p", program.pid, "--freeze", "--object", hex(address), "-f", "json", "--paths", *args))


@pytest.mark.parametrize("busy", [False, True])
def test_known_structure(programs, busy):
    program = programs("c_graph", "1000", *(["busy"] if busy else []))
    where = {name: at[0] for name, at in told(program).items()}
    names = {at: name for name, at in where.items()}

    def edges(of):
        d = drawing(program, where[of], "--levels", "0")
        assert not d["approximate"] and d["frozen_ms"] > 0
        return d, {(names[int(e["from"], 16)], e["offset"], names[int(e["to"], 16)], e["level"]) for e in d["edges"]}

    assert edges("leaf0")[1] == {("top", 8, "leaf0", 0)}
    assert edges("leaf1")[1] == {("top", 16, "leaf1", 0)}
    d, found = edges("ring2")
    assert found == {("ring", 16, "ring2", 0), ("ring2", 16, "ring", 1), ("top", 24, "ring", 1)}
    assert d["paths"][0]["root"]["name"] == "global top" and not d["paths"][0]["root"]["conservative"]
    assert [(names[int(s["from"], 16)], names[int(s["to"], 16)]) for s in d["paths"][0]["steps"]] == [
        ("top", "ring"), ("ring", "ring2")]
    d, found = edges("kept")
    assert found == {("hidden", 24, "kept", 0)} and d["paths"][0]["root"]["kind"] == "uncollectable"
    assert edges("plain")[1] == {("top", 0, "plain", 0)}

    def size(name):
        return int(ask("graph", "-p", program.pid, "--freeze", "--size", hex(where[name])))

    def own(name):
        return next(o["bytes"] for o in drawing(program, where[name])["objects"] if o["target"])

    # The ring leads back to itself, and what is pointer-free to nothing; each counts once.
    assert size("ring") == size("ring2") == own("ring") + own("ring2") and size("plain") == own("plain") >= 80
    assert size("top") == sum(map(own, ("top", "leaf0", "leaf1", "plain", "ring", "ring2")))
    lost = alys("graph", "-p", program.pid, "--freeze", "--object", hex(where["lost"]))
    assert lost.returncode == 3 and "no live object at" in lost.stderr
    assert obey(program, "x") == "alive"


def test_dot_is_read_by_graphviz_rules(programs):
    program, _, types = crystal(programs, "debug", FOOS="10")
    dot = ask("graph", "-p", program.pid, "--type", "C", "--type-ids", types, "-f", "dot", "--paths", "--freeze")
    assert dot.startswith("digraph heap {\n") and dot.endswith("}\n")
    assert dot.count("style=dashed") >= 3 and "Array(B) (buffer)" in dot
    assert re.search(r'root1 \[shape=box, label="(fiber )?stack .*at 0x[0-9a-f]+"\];', dot)


# --- frozen -------------------------------------------------------------------------------------------

def states(pid):
    """The state letter of each thread: t = stopped by a tracer."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            found.append(re.search(r"^State:\s+(\S)", (task / "status").read_text(), re.M)[1])
        except (OSError, TypeError):
            pass
    return found


def until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
    return True


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP, signal.SIGINT])
def test_tracer_is_ended_while_target_is_frozen(programs, how):
    program = programs("c_graph", "600000", "busy")
    top = told(program)["top"][0]
    caught = 0
    for _ in range(6):
        tracer = subprocess.Popen([str(ALYS), "graph", "-p", str(program.pid), "--freeze", "--object", hex(top)],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        frozen = until(lambda: "t" in states(program.pid) or tracer.poll() is not None, 20) and tracer.poll() is None
        tracer.send_signal(how)
        # A tracer that is stopped itself is killed by its guard.
        assert until(lambda: "t" not in states(program.pid), 20), "still frozen"
        caught += frozen
        assert obey(program, "x") == "alive"
        tracer.kill()
        tracer.wait()
        if caught == 2 or (caught and how == signal.SIGSTOP):
            break
    assert caught, "the target was never seen frozen"
    assert obey(program, "x") == "alive" and program.finish() == 0


def test_frozen_time_is_told_and_short(programs):
    program = programs("c_graph", "200000", "busy")
    top = told(program)["top"][0]
    seen = []
    # The program itself sees no longer pause, except that it waits for a processor now and then.
    while len(seen) < 10 and (not seen or min(seen) >= 500):
        obey(program, "gap")
        done = alys("graph", "-p", program.pid, "--freeze", "--object", hex(top))
        ms = float(re.search(r"frozen for ([0-9.]+) ms", done.stderr)[1])
        assert 0 < ms < 2000
        seen.append(int(obey(program, "gap")) / 1000 - ms)
    assert min(seen) < 500, seen
    done = alys("graph", "-p", program.pid, "--object", hex(top))
    assert "approximate" in done.stderr and "frozen" not in done.stderr.replace("--freeze", "")
    assert states(program.pid).count("t") == 0


def test_nothing_is_written_and_nobody_stopped_unasked(programs, tmp_path):
    """Judged by the system calls of alys-bpf."""
    program = programs("c_graph", "1000")
    top = hex(told(program)["top"][0])
    held = {"SEIZE", "INTERRUPT", "GETREGSET", "GETSIGINFO", "DETACH"}
    for i, (verb, *args) in enumerate([["census"], ["report", "--heap"], ["dump", "-o", tmp_path / "heap.alys"],
                                       ["graph", "--object", top], ["graph", "--object", top, "--freeze"]]):
        said = tmp_path / f"calls{i}"
        subprocess.run(["strace", "-f", "-o", said, "-e", "trace=process_vm_readv,process_vm_writev,ptrace,openat,kill,tgkill",
                        ALYS, verb, "-p", str(program.pid), *map(str, args)], check=True, timeout=120, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        calls = said.read_text()
        assert f"process_vm_readv({program.pid}, " in calls and "process_vm_writev" not in calls
        assert set(re.findall(r"ptrace\(PTRACE_(\w+)", calls)) == (held if "--freeze" in args else set())
        assert not re.search(rf'/proc/{program.pid}/(task/\d+/)?mem", .*O_(WRONLY|RDWR)', calls)
        assert not re.search(rf"kill\({program.pid}, SIG", calls)
    assert obey(program, "x") == "alive"


def test_stopped_process_stays_stopped(programs):
    """A process that job control has stopped is still stopped afterwards."""
    program = programs("c_graph")
    top = told(program)["top"][0]
    os.kill(program.pid, signal.SIGSTOP)
    assert until(lambda: states(program.pid) == ["T"], 5)
    ask("graph", "-p", program.pid, "--freeze", "--object", hex(top))
    assert until(lambda: states(program.pid) == ["T"], 5)
    os.kill(program.pid, signal.SIGCONT)
    assert obey(program, "x") == "alive"


def test_debugged_process_is_left_alone(programs):
    program = programs("c_graph")
    top = told(program)["top"][0]
    strace = subprocess.Popen(["strace", "-o", "/dev/null", "-p", str(program.pid)], stderr=subprocess.DEVNULL)
    try:
        assert until(lambda: "TracerPid:\t0\n" not in Path(f"/proc/{program.pid}/status").read_text(), 5)
        done = alys("graph", "-p", program.pid, "--freeze", "--object", hex(top))
        assert done.returncode == 1 and "it is being debugged" in done.stderr
        assert alys("graph", "-p", program.pid, "--object", hex(top)).returncode == 0
    finally:
        strace.terminate()
        strace.wait()
    assert obey(program, "x") == "alive"


@pytest.mark.parametrize("freeze", [(), ("--freeze",)], ids=["running", "frozen"])
def test_process_that_dies_midway(programs, freeze):
    for pause in (0.0, 0.02, 0.05, 0.1, 0.2):
        program = programs("c_graph", "400000")
        top = told(program)["top"][0]
        tracer = subprocess.Popen([str(ALYS), "graph", "-p", str(program.pid), "--object", hex(top), *freeze],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(pause)
        program.proc.kill()
        said = tracer.communicate(timeout=120)[1]
        assert tracer.returncode in (0, 1, 3), said
        assert tracer.returncode == 0 or len(said.strip().splitlines()) == 1, said


# --- what cannot be answered --------------------------------------------------------------------------

def test_no_such_type(programs):
    program, _, types = crystal(programs, "debug", FOOS="10")
    done = alys("graph", "-p", program.pid, "--type", "Foox", "--type-ids", types)
    assert done.returncode == 3 and not done.stdout
    assert f"no type Foox in process {program.pid}; nearest: Foo" in done.stderr
    done = alys("graph", "-p", program.pid, "--type", "Foo")
    assert done.returncode == 3 and "--type-ids FILE" in done.stderr
    # The compiler knows the type, but no object has it.
    done = alys("graph", "-p", program.pid, "--type", "Late", "--type-ids", types)
    assert done.returncode == 0 and done.stdout == "graph LR\n"
    assert f"no object of type Late lives in process {program.pid}" in done.stderr


def test_wrong_words(programs):
    assert "no heap to look at" in alys("graph", "--type", "Foo").stderr
    assert "no objects given" in alys("graph", "-p", "1").stderr
    assert alys("graph", "-p", 2**22 + 1, "--type", "A").returncode == 3
    sleep = subprocess.Popen(["sleep", "60"])
    try:
        done = alys("graph", "-p", sleep.pid, "--type", "A")
        assert done.returncode == 3 and f"no type A in process {sleep.pid}" in done.stderr  # of malloc
        done = alys("graph", "-p", sleep.pid, "--type", "A", "--live", "marked")
        assert done.returncode == 3 and str(sleep.pid) in done.stderr and "Boehm" in done.stderr
    finally:
        sleep.kill()
        sleep.wait()


# --- dumps --------------------------------------------------------------------------------------------

def test_dump(programs, tmp_path):
    program, where, types = crystal(programs, "debug", FOOS="5000")
    before, after = tmp_path / "before.alys", tmp_path / "after.alys"
    args = ("dump", "-p", program.pid, "--type-ids", types, "--fields", FIELDS, "--freeze")
    ask(*args, "-o", before)
    live = ask("graph", "-p", program.pid, "--type", "C", "--type-ids", types, "--fields", FIELDS, "--paths", "--freeze")
    assert ask("graph", before, "--type", "C", "--paths") == live
    asked = ("-p", program.pid, "--type-ids", types, "--fields", FIELDS, "--freeze")
    for question in (("--size", hex(where["Array(Foo)"][0])), ("--show", "sizes")):
        assert ask("graph", before, *question) == ask("graph", *asked, *question)
    counts = table(ask("graph", before, "--show", "counts"))
    assert counts["Foo"] == 5000
    report = ask("report", "--by", "type", "--top", "0", "-f", "tsv", "--columns", "type,count,bytes", before)
    rows = {name: (int(n), int(size)) for name, n, size in (line.split("\t") for line in report.splitlines()[1:])}
    assert rows["Foo"] == (5000, 20000) and rows["B"][0] == 2 and rows["A"] == (1, 16)
    assert rows["Array(Foo) (buffer)"][0] == 1 and rows["Array(B) (buffer)"][0] == 1
    assert sum(n for name, (n, _) in rows.items() if name in counts) == sum(counts.values())
    assert obey(program, "truncate") == "done"
    ask(*args, "-o", after)
    diff = ask("diff", before, after, "--by", "type", "-f", "csv", "--top", "0")
    foo = next(line for line in diff.splitlines() if re.search(r'(^|,)"?Foo"?(,|$)', line))
    assert re.search(r"-(3[89]\d\d|4000)\b", foo), diff
    assert alys("dump", "-p", program.pid, "-o", before).returncode == 1  # not over an existing file


def test_damaged_dump(programs, tmp_path):
    program, _, types = crystal(programs, "debug", FOOS="500")
    dump, bad = tmp_path / "good.alys", tmp_path / "bad.alys"
    ask("dump", "-p", program.pid, "--type-ids", types, "-o", dump)
    data = dump.read_bytes()
    said = set()
    for at in range(64, len(data), 97):
        bad.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1:])
        done = alys("graph", bad, "--type", "C")
        assert done.returncode in (0, 1, 3), done.stderr
        said.add(done.returncode)
    bad.write_bytes(data[:len(data) // 2])
    assert alys("graph", bad, "--type", "C").returncode == 1
    assert said >= {0, 1}
    other = PROGS.parents[2] / "tests" / "golden" / "v1.alys"
    if other.exists():
        assert "no dump of a heap" in alys("graph", other, "--type", "C").stderr


# --- a recording of the same process ------------------------------------------------------------------

@pytest.mark.bpf
def test_learned_names_and_sites(programs, tmp_path):
    program, _, _ = crystal(programs, "debug", FOOS="10")
    trace, dump = tmp_path / "t.alys", tmp_path / "d.alys"
    tracer = subprocess.Popen([str(ALYS), "-v", "-p", str(program.pid), "-o", str(trace)], stderr=subprocess.PIPE, text=True)
    for line in tracer.stderr:
        if "recording " in line:
            break
    assert obey(program, "late") == "done"
    tracer.send_signal(signal.SIGINT)
    tracer.communicate(timeout=60)
    counts = table(ask("graph", "-p", program.pid, "--learn", trace, "--freeze", "--show", "counts"))
    assert counts["Late"] == 100 and counts["Array(Late)"] >= 100
    ask("dump", "-p", program.pid, "--learn", trace, "--sites", trace, "--freeze", "-o", dump)
    report = ask("report", "--by", "site", "--focus", "Late", "--top", "0", dump)
    assert "graph.cr" in report and "Late.new" in report
    done = alys("graph", "-p", program.pid, "--learn", tmp_path / "none.alys", "--show", "counts")
    assert done.returncode != 0 and "none.alys" in done.stderr
