# SPDX-License-Identifier: Apache-2.0
"""Fixtures for tests with real probes, which compare alys-bpf's results with what the traced programs print."""

import collections
import contextlib
import fcntl
import functools
import itertools
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("BUILD", ROOT / "build")).resolve()
ALYS = BUILD / "alys-bpf"
PROGS = BUILD / "tests" / "prog"
DEMO = BUILD / "demo"
# Modules shared by the test folders.
sys.path.insert(1, str(ROOT / "tests" / "lib"))

from speed import why_slow  # found there

# Seconds after which something is considered hung, even on a slow or busy machine.
TIMEOUT = 120

# Test programs wait for a tracer, except those started by alys-bpf itself.
os.environ.pop("ALYS_NO_WAIT", None)
STRAIGHT = {**os.environ, "ALYS_NO_WAIT": "1"}


# --- what is built on demand ------------------------------------------------------------------------

@contextlib.contextmanager
def alone():
    """A lock between parallel test processes, for building and creating shared files."""
    (BUILD / "tests").mkdir(parents=True, exist_ok=True)
    with open(BUILD / "tests" / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def make(*words):
    with alone():
        subprocess.run(["make", "-s", "-C", str(ROOT), f"BUILD={BUILD}", *map(str, words)], check=True, timeout=600)


def outputs(program):
    """Files that a unit test writes, generated once."""
    path, folder = BUILD / "tests" / program, BUILD / "tests" / "sink"
    made = folder / f".{program}"
    make(path)
    with alone():
        if not made.exists() or made.stat().st_mtime < path.stat().st_mtime:
            subprocess.run([path], cwd=ROOT, check=True, capture_output=True, timeout=TIMEOUT)
            made.touch()
    return folder


# --- who may run -----------------------------------------------------------------------------------

def why_no_bpf():
    """Checks with bpftool, not alys-bpf: if BPF works and alys-bpf does not, tests must fail, not be skipped."""
    if os.geteuid() != 0:
        return "not root"
    try:
        answer = subprocess.run(["bpftool", "prog"], capture_output=True, timeout=TIMEOUT)
    except OSError as e:
        return f"no bpftool: {e}"
    if answer.returncode:
        return "kernel without BPF: " + answer.stderr.decode(errors="replace").strip()
    if not os.path.exists("/sys/kernel/btf/vmlinux"):
        return "kernel without BTF"
    if " uprobe_register\n" not in Path("/proc/kallsyms").read_text():
        return "kernel without uprobes"
    return None


def pytest_configure(config):
    config.addinivalue_line("markers", "bpf: needs root and a kernel with BPF and uprobes")
    config.addinivalue_line("markers", "long: an emulated machine for many minutes; run by scripts/test-arm64")
    config.addinivalue_line("markers", "heavy: minutes of system calls; skipped where these are slow (tests/README.md)")
    config.addinivalue_line("markers", "beside: with probes, but others of its kind may run beside it (tests/README.md)")
    # Whoever runs tests beside us is a stranger.
    if hasattr(config, "workerinput"):
        os.setsid()


# The files that take longest begin first: nothing is left to do beside them at the end.
LONGEST = ("test_symbols.py", "test_html.py", "test_http.py", "test_liveness.py", "test_remembered.py", "test_record.py", "test_daemon_long.py")


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name not in LONGEST)
    for mark, reason in (("bpf", why_no_bpf()), ("heavy", why_slow())):
        for item in items if reason else ():
            if item.get_closest_marker(mark):
                item.add_marker(pytest.mark.skip(reason=reason))


# --- what the kernel holds -------------------------------------------------------------------------

def bpftool(*args):
    """Retries, as bpftool fails if an object disappears while it lists: an empty list would hide leaks."""
    for _ in range(100):
        out = subprocess.run(["bpftool", "-j", *args], capture_output=True, text=True, timeout=TIMEOUT)
        if out.returncode == 0:
            return json.loads(out.stdout or "[]")
        if "dump" in args and "No such file" in out.stdout:
            return []  # it went after it was listed
        time.sleep(0.05)
    raise AssertionError(f"bpftool {args}: {out.stdout}{out.stderr}")


def children_of(folder):
    """Entries of a directory in /proc; none if its process has exited, for which glob() would raise."""
    try:
        return list(Path(folder).iterdir())
    except OSError:
        return []


def held_by_strangers():
    """Programs and links held by processes of other sessions, which tests must ignore."""
    held = set()
    for fd in (fd for pid in children_of("/proc") if pid.name.isdigit() for fd in children_of(pid / "fd")):
        try:
            if os.readlink(fd) not in ("anon_inode:bpf-prog", "anon_inode:bpf_link"):
                continue
            if os.getsid(int(fd.parts[2])) == os.getsid(0):
                continue
            text = (fd.parent.parent / "fdinfo" / fd.name).read_text()
        except OSError:
            continue
        held |= {(kind, int(n)) for kind, n in re.findall(r"^(prog|link)_id:\s*(\d+)", text, re.M)}
    return held


def fdinfo(pid):
    """The fdinfo of each descriptor of a process; descriptors closed meanwhile are skipped."""
    for info in children_of(f"/proc/{pid}/fdinfo"):
        try:
            yield info.read_text()
        except OSError:
            continue


def probe_programs():
    """Programs of types for probes and tracepoints, and links."""
    kinds = {"kprobe", "tracing", "raw_tracepoint", "tracepoint", "perf_event"}
    found = {("prog", p["id"]) for p in bpftool("prog") if p.get("type") in kinds}
    found |= {("link", k["id"]) for k in bpftool("link") if k.get("type") != "cgroup"}
    return found - held_by_strangers()


PROMPT = 3  # seconds


def leftovers(before, patience=TIMEOUT):
    """Programs left since `before`. The kernel frees them some time after the last reference is dropped."""
    end = time.monotonic() + patience
    while True:
        left = probe_programs() - before
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.05)


def changed_text(pid):
    """Executable mappings whose bytes in the process are not those of the file: {path: how many bytes}."""
    changed = {}
    with open(f"/proc/{pid}/mem", "rb", 0) as mem:
        for line in open(f"/proc/{pid}/maps"):
            span, rights, offset, _, inode, *path = line.split(None, 5)
            if "x" not in rights or "w" in rights or inode == "0":
                continue
            start, end = (int(n, 16) for n in span.split("-"))
            with open(f"/proc/{pid}/map_files/{start:x}-{end:x}", "rb") as file:
                file.seek(int(offset, 16))
                want = file.read(end - start)
            mem.seek(start)
            have = mem.read(end - start)[:len(want)]
            if have != want:
                changed[path[0].strip()] = sum(a != b for a, b in zip(have, want))
    return changed


def assert_clean(pid, before):
    assert not Current.item.get_closest_marker("beside"), "this process may have probes of tests beside this one"
    assert not leftovers(before)
    # Who was killed is waited for by nobody: a child of its takes the breakpoints out (unkilled.h).
    end = time.monotonic() + PROMPT
    while (changed := changed_text(pid)) and time.monotonic() < end:
        time.sleep(0.05)
    assert changed == {}


@pytest.fixture(autouse=True)
def nothing_left(request):
    if not request.node.get_closest_marker("bpf"):
        yield
        return
    before = probe_programs()
    yield
    left = leftovers(before)
    assert not left, f"left in the kernel: {left}"


# --- programs --------------------------------------------------------------------------------------

class Program:
    """A test program: speaks the protocol of tests/prog/truth.h."""

    def __init__(self, argv, env=None):
        self.proc = subprocess.Popen([str(a) for a in argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     env={**os.environ, **(env or {})})
        self.said = []
        self.pid = self.proc.pid
        self.buffer = b""

    def line(self, timeout=TIMEOUT):
        end = time.monotonic() + timeout
        while b"\n" not in self.buffer:
            ready, _, _ = select.select([self.proc.stdout], [], [], max(0, end - time.monotonic()))
            assert ready, f"{self.proc.args}: silent for {timeout} s"
            piece = os.read(self.proc.stdout.fileno(), 65536)
            assert piece, f"{self.proc.args}: ended early with status {self.proc.wait(5)}"
            self.buffer += piece
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode()

    def wait_ready(self):
        assert self.line() == "ready"
        return self

    def go(self):
        self.proc.stdin.write(b"g")
        self.proc.stdin.flush()
        return self

    def truths(self, processes=1):
        """One truth per process; other lines are kept in self.said."""
        found = []
        while len(found) < processes:
            line = self.line()
            if line.startswith("{"):
                found.append(json.loads(line))
            else:
                self.said.append(line)
        return found

    def finish(self, timeout=TIMEOUT):
        if not self.proc.stdin.closed:
            self.proc.stdin.close()
        return self.proc.wait(timeout)

    def kill(self):
        if self.proc.poll() is None:
            self.proc.kill()
            self.proc.wait()
        for pipe in (self.proc.stdin, self.proc.stdout):
            try:
                pipe.close()
            except OSError:
                pass


class Tracer:
    """A running alys-bpf; `recording` waits until its probes are attached."""

    def __init__(self, args, launcher=(), **popen):
        self.args = always_on(args)
        self.proc = subprocess.Popen([*launcher, str(ALYS), "-v", *self.args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, **popen)
        self.text = ""

    def recording(self, timeout=TIMEOUT):
        end = time.monotonic() + timeout
        while "recording " not in self.text:
            ready, _, _ = select.select([self.proc.stderr], [], [], max(0, end - time.monotonic()))
            piece = os.read(self.proc.stderr.fileno(), 65536) if ready else b""
            assert piece, f"{self.args}: not recording: {self.text}"
            self.text += piece.decode(errors="replace")
        return self

    def has_said(self, words):
        """Reads what is available on stderr."""
        while select.select([self.proc.stderr], [], [], 0)[0]:
            piece = os.read(self.proc.stderr.fileno(), 65536)
            if not piece:
                break
            self.text += piece.decode(errors="replace")
        return words in self.text

    def wait(self, timeout=TIMEOUT):
        """Waits for exit; returns the status and all of stderr."""
        try:
            _, rest = self.proc.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            _, rest = self.proc.communicate()
            pytest.fail(f"{self.args}: does not end: {self.text}{rest.decode(errors='replace')}")
        self.text += rest.decode(errors="replace")
        return self.proc.returncode

    def stop(self, signum=signal.SIGINT):
        self.proc.send_signal(signum)
        status = self.wait()
        assert status == 0, self.text
        return self

    def kill(self):
        if self.proc.poll() is None:
            self.proc.kill()
            self.proc.communicate()


def assert_marked(item):
    assert item.get_closest_marker("bpf"), "a test with probes needs the mark: those without it run side by side"


@pytest.fixture
def started(request):
    """Starts programs and tracers, which are killed after the test."""
    running = []

    class Starter:
        def program(self, name, *args, env=None):
            path = name if os.path.isabs(name) else PROGS / name
            running.append(Program([path, *args], env))
            return running[-1]

        def tracer(self, *args, **popen):
            assert_marked(request.node)
            running.append(Tracer(args, **popen))
            return running[-1]

        def other(self, one):
            """Registers anything with a kill() method."""
            running.append(one)
            return one

        def server(self, name="server"):
            running.append(Program([DEMO / name, "0"]))
            running[-1].url = "http://" + running[-1].line().split()[-1]
            return running[-1]

    yield Starter()
    for one in reversed(running):
        one.kill()


@pytest.fixture
def growing(started):
    return lambda: started.program("c_grow").wait_ready().go()


def has_ended(pid):
    """True also for a zombie: in a container without an init, orphans are never reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


@pytest.fixture
def public():
    """Copies a program to a directory that every user can access."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o755)

    def copy(program):
        there = folder / Path(program).name
        shutil.copy(program, there)
        there.chmod(0o755)
        return there

    copy.folder = folder
    yield copy
    shutil.rmtree(folder)


@pytest.fixture
def overlays(tmp_path):
    """overlays(file...): a folder with copies, and the same under two overlays, each a device of its own."""
    place = tmp_path / "containers"
    folders = [place / name for name in ("layer", "one", "two")]
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)

    def mount(*files):
        for folder in (place / "empty", *folders):
            folder.mkdir()
        for file in files:
            shutil.copy(file, folders[0])
        for folder in folders[1:]:
            done = subprocess.run(["mount", "-t", "overlay", "-o", f"lowerdir={place}/empty:{folders[0]}", "none", folder])
            if done.returncode:
                pytest.skip("no overlay can be mounted here")
        return folders
    yield mount
    for folder in (*folders[1:], place):
        subprocess.run(["umount", "-l", folder], check=False, stderr=subprocess.DEVNULL)


VERBS_THAT_RECORD = ("record", "report", "top", "daemon")


def always_on(args):
    """The words of a sampled recording with probes attached all the time, unless the test gives a budget: windows are random."""
    words = [str(a) for a in args]
    own = words[:words.index("--")] if "--" in words else words
    if not {"-s", "--sample"} & set(own) or "--max-overhead" in own:
        return words
    verb = words[0] in VERBS_THAT_RECORD
    return [*words[:verb], "--max-overhead", "0", *words[verb:]]


class Current:
    """The running test, for functions that are not fixtures."""
    item = None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    Current.item = item


def records(words):
    """Whether these words attach probes, unless they are refused. Words that begin with an option mean record; a report with
    -p reads a trace where one is named."""
    own = words[:words.index("--")] if "--" in words else words
    if {"--help", "-h", "--version", "--heap"} & set(own):
        return False
    verb = words[0] if words else ""
    if verb == "report":
        return "-p" in own and not own[-1].endswith(".alys")
    return verb.startswith("-") or verb in VERBS_THAT_RECORD


HELD_TOO_LONG = "its heap is not copied yet: resumed; try without --freeze"


def alys(*args, timeout=TIMEOUT, **kw):
    words = always_on(args)
    for _ in range(5):  # How long a process may be held is seconds; with other tests beside, a copy takes that now and then.
        done = subprocess.run([str(ALYS), *words], capture_output=True, text=True, errors="replace",
                              timeout=timeout, stdin=subprocess.DEVNULL, **kw)
        if HELD_TOO_LONG not in (done.stderr or ""):
            break
    if records(words) and done.returncode == 0:
        assert_marked(Current.item)
    return done


def convert(trace, fmt, out, *args):
    done = alys("convert", "-f", fmt, *args, trace, out)
    assert done.returncode == 0, done.stderr
    return out


# --- daemons ---------------------------------------------------------------------------------------

NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
RIGHTS = ["bpf", "perfmon", "sys_ptrace", "dac_read_search"]
# Required for perf events with this setting; otherwise the daemon drops it at once.
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
ADMIN = ["sys_admin"] if PARANOID.exists() and int(PARANOID.read_text()) > 2 else []


def family(pid):
    """The process and all its descendants."""
    found = [pid]
    for task in children_of(f"/proc/{pid}/task"):
        try:
            found += [one for child in (task / "children").read_text().split() for one in family(int(child))]
        except OSError:
            continue
    return found


class Daemon:
    """Probes are attached all the time, unless `budget`: then as the options say, or by default."""

    def __init__(self, tmp_path, *args, launcher=(), binary=ALYS, budget=False):
        self.socket = tmp_path / "ctl"
        self.text = b""
        self.proc = subprocess.Popen([*launcher, str(binary), "daemon", "-v", "--socket", str(self.socket),
                                      *(() if budget or "--max-overhead" in args else ("--max-overhead", "0")), *map(str, args)],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def wait_ready(self, timeout=TIMEOUT):
        end = time.monotonic() + timeout
        while b"daemon " not in self.text:
            line = self.proc.stderr.readline()
            self.text += line
            assert line and time.monotonic() < end, f"no daemon: {self.text.decode()}"
        os.set_blocking(self.proc.stderr.fileno(), False)
        return self

    def log(self):
        self.text += self.proc.stderr.read() or b""
        return self.text.decode(errors="replace")

    def run(self, *words, launcher=(), timeout=TIMEOUT):
        return subprocess.run([*launcher, str(ALYS), "ctl", "--socket", str(self.socket), *map(str, words)],
                              capture_output=True, timeout=timeout, stdin=subprocess.DEVNULL)

    def ctl(self, *words):
        done = self.run(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def status(self):
        text = self.ctl("status").decode()
        told = dict(re.findall(r"^(\w+) +(.*)$", text, re.M))
        told["table"] = {int(pid): name for pid, name in re.findall(r"^ +(\d+)  (\S+)", text, re.M)}
        return told

    def collector(self):
        """Pid of the collector; the started process is the broker."""
        return int(re.search(r"records in (\d+)", self.status()["daemon"]).group(1))

    def traced(self):
        return int(self.status()["processes"].split()[0])

    def until(self, wanted, timeout=TIMEOUT):
        end = time.monotonic() + timeout
        while not wanted():
            assert time.monotonic() < end, (self.ctl("status").decode(), self.log())
            time.sleep(0.02)

    def await_probes(self, path):
        """All of the file, and this daemon's: others may probe every program of the machine meanwhile."""
        self.until(lambda: re.search(rf"{re.escape(str(path))}: \d+ functions probed", self.log()))

    def top(self, pid, index="alloc_objects"):
        """{function: flat} of a process's profile, with the sum under None."""
        path = self.socket.parent / f"{pid}.{time.monotonic_ns()}.pb.gz"
        path.write_bytes(self.ctl("snapshot", pid))
        text = pprof("-top", "-nodecount=0", "-nodefraction=0", f"-sample_index={index}", "-unit=B", path)
        found = {name: float(n) for n, name in re.findall(r"^ *([\d.]+)B? +\S+% +\S+% +\S+ +\S+% +(\S+)", text, re.M)}
        total = re.search(r"of ([\d.]+)B? total", text)
        found[None] = float(total.group(1)) if total else 0
        return found

    def kill(self):
        if self.proc.poll() is None:
            self.proc.kill()
        self.proc.communicate()

    def end(self, signum=signal.SIGTERM):
        self.proc.send_signal(signum)
        self.proc.wait(TIMEOUT)
        assert self.proc.returncode == 0, self.log()


@pytest.fixture
def daemon(request, tmp_path):
    running = []

    def start(*args, place=tmp_path, **kw):
        assert_marked(request.node)
        running.append(Daemon(place, *args, **kw))
        return running[-1].wait_ready()

    yield start
    for one in running:
        one.kill()


@pytest.fixture
def group():
    """A new control group: (path, function that moves a child into it)."""
    for root in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup"):
        path = Path(root) / f"alys-test-{os.getpid()}"
        try:
            path.mkdir()
            break
        except OSError:
            continue
    else:
        pytest.skip("no control group can be made here")
    yield path
    remove_group(path)


def remove_group(path):
    """Kills the remaining processes and removes the group; retries, as exits take a moment."""
    end = time.monotonic() + TIMEOUT
    while path.exists() and time.monotonic() < end:
        try:
            for pid in (path / "cgroup.procs").read_text().split():
                os.kill(int(pid), signal.SIGKILL)
            path.rmdir()
        except OSError:
            time.sleep(0.02)


def started_in(path, started, name, *args):
    """Like started.program, in a control group from the start."""
    own = Path("/proc/self/cgroup").read_text()
    (path / "cgroup.procs").write_text(str(os.getpid()))
    try:
        return started.program(name, *args)
    finally:
        line = "0::" if "unified" in str(path) or str(path.parent) == "/sys/fs/cgroup" else ":name=systemd:"
        home = re.search(line + r"(/.*)", own).group(1)
        (path.parent / home.lstrip("/") / "cgroup.procs").write_text(str(os.getpid()))


def law(d):
    """hits, recorded, skipped, lost of a daemon with idle targets."""
    account = d.status()["account"]
    sums = [int(n) for n in re.search(r"hits (\d+) = recorded (\d+) \+ skipped (\d+).*\+ lost (\d+)", account).groups()]
    assert sums[0] == sum(sums[1:]), account
    return sums


# --- traces ----------------------------------------------------------------------------------------

class Stack(list):
    """Frames shared by all events with the same stack, so that searches in them are done once."""

    @functools.cached_property
    def site(self):
        """The innermost function named site_*. None for exception objects, which belong to no site."""
        for frame in self:
            if frame.get("name") in ("__cxa_allocate_exception", "__cxa_free_exception"):
                return None
            if found := re.search(r"\bsite_\w+", frame.get("name", "")):
                return found.group()
        return None


def each_event(path):
    """Yields the JSON array's objects: all at once may be too large for memory, and one by one they take long to parse."""
    stacks = {}
    with open(path) as f:
        while lines := list(itertools.islice(f, 2000)):
            assert all(line.strip() in ("[", "]", "") for line in lines if not line.startswith("{"))
            parts = [line.strip().rstrip(",").partition(',"stack":') for line in lines if line.startswith("{")]
            events = json.loads("[" + ",".join(fields + "}" if last else fields for fields, last, _ in parts) + "]")
            for event, (_, last, frames) in zip(events, parts):
                if last:
                    if frames not in stacks:
                        stacks[frames] = Stack(json.loads(frames[:-1]))
                    event["stack"] = stacks[frames]
                yield event


def events_of(trace, tmp_path):
    return each_event(convert(trace, "json", tmp_path / (Path(trace).name + ".json")))


def has_events(trace):
    """True once a trace, which may be incomplete, has events."""
    return trace.exists() and re.search(r"^events +[1-9]", alys("info", trace).stdout, re.M)


def wait_until(wanted, timeout=TIMEOUT):
    end = time.monotonic() + timeout
    while not (found := wanted()):
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.02)
    return found


def site_of(event):
    return event["stack"].site


FIELDS = ("allocs", "bytes", "reallocs", "realloc_bytes", "frees", "live", "live_bytes")


class Tally:
    """Replays events of one process by the rules of tests/prog/truth.h."""

    def __init__(self):
        self.sites = collections.defaultdict(lambda: dict.fromkeys(FIELDS, 0))
        self.blocks = {}

    def drop(self, addr):
        block = self.blocks.pop(addr, None)
        if block:
            self.sites[block[0]]["live"] -= 1
            self.sites[block[0]]["live_bytes"] -= block[1]

    def put(self, site, addr, size, block):
        self.drop(addr)
        self.blocks[addr] = (site, size, block)
        self.sites[site]["live"] += 1
        self.sites[site]["live_bytes"] += size

    def add(self, event):
        site, kind, old = site_of(event), event["kind"], event.get("prev_addr", 0)
        if kind == "free" or (kind == "realloc" and not event["addr"]):
            self.sites[site]["frees"] += 1
            self.drop(old or event["addr"])
            return
        count, size = ("reallocs", "realloc_bytes") if kind == "realloc" and old else ("allocs", "bytes")
        self.sites[site][count] += 1
        self.sites[site][size] += event["size"]
        # Before realloc has returned, another thread may have got the old address: then the block there has another id.
        if old in self.blocks and self.blocks[old][2] == event["id"]:
            self.drop(old)
        self.put(site, event["addr"], event["size"], event["id"])


def tally(events):
    """Sums by process and site, without events caused by the garbage collector, which are no calls."""
    found = collections.defaultdict(Tally)
    for event in events:
        if event.get("cause") != "gc":
            found[event["tgid"]].add(event)
    return {tgid: t.sites for tgid, t in found.items()}


def busy(site):
    return any(site.get(f) for f in FIELDS)


def pooled(sites, names):
    """Sum over the sites of these names."""
    return {f: sum(s.get(f, 0) for name, s in sites.items() if name in names) for f in FIELDS}


def assert_same(truth, sites, skip=(), deep=(), others=0):
    """
    Asserts that all sites and their numbers are equal. Deep sites reach the allocator through library code without frame
    pointers: if their frame is not found, their calls are counted without a site. Calls without a site must be theirs,
    except for `others` calls.
    """
    shallow = {name: s for name, s in truth.items() if busy(s) and name not in deep}
    told = {name: {f: s[f] for f in FIELDS if f in s and f not in skip} for name, s in shallow.items()}
    seen = {name: {f: s[f] for f in told.get(name, FIELDS)} for name, s in sites.items()
            if name and busy(s) and name not in deep}
    assert seen == told
    found, wanted = pooled(sites, {*deep, None}), pooled(truth, deep)
    for field in FIELDS:
        if deep and field not in ("live", "live_bytes", *skip):
            most = others * 4096 if "bytes" in field else others
            assert 0 <= found[field] - wanted[field] <= most, (field, found, wanted)


# --- the ledger ------------------------------------------------------------------------------------

Ledger = collections.namedtuple("Ledger", "hits recorded skipped lost rows")


def ledger(trace):
    """The ledger as printed by `info`: the four sums, and its rows by name."""
    done = alys("info", trace)
    assert done.returncode == 0, done.stderr
    return parse_ledger(done.stdout)


def parse_ledger(text):
    law = re.search(r"hits (\d+) = recorded (\d+) \+ skipped (\d+)[^+]*\+ lost (\d+)", text)
    assert law, f"no ledger in: {text}"
    rows = {name: int(n) for name, n in re.findall(r"^  (?:hit|recorded|skipped|lost|note) +(\S+) +(\d+)", text, re.M)}
    return Ledger(*(int(n) for n in law.groups()), rows)


def assert_law(trace, lost=0):
    book = ledger(trace)
    assert book.hits > 0
    assert book.hits == book.recorded + book.skipped + book.lost, book
    if lost is not None:
        assert book.lost == lost, book
    return book


def was_held(book):
    """On a machine that is too busy, a launched program may begin before it is probed: a row says so."""
    return "not-held" not in book.rows


def pprof(*args):
    done = subprocess.run(["go", "tool", "pprof", *[str(a) for a in args]], capture_output=True, text=True,
                          timeout=TIMEOUT, env={**os.environ, "PPROF_TMPDIR": "/tmp", "HOME": os.environ.get("HOME", "/")})
    assert done.returncode == 0, done.stderr
    return done.stdout
