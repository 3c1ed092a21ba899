# SPDX-License-Identifier: Apache-2.0
"""
Names in real recordings: files as they were while they ran, wherever they are; code of virtual machines;
traces of other machines; names that could harm a terminal.
"""

import gzip
import http.server
import os
import pty
import re
import shutil
import subprocess
import threading
import time
import urllib.request
from pathlib import Path

import pytest

import pprof_rules
from conftest import ALYS, DEMO, TIMEOUT, alys, convert, each_event, make
from web_driver import wait_for

pytestmark = [pytest.mark.bpf, pytest.mark.beside]
LLVM = shutil.which("llvm-symbolizer-14") or shutil.which("llvm-symbolizer")

SOURCE = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) void *PLANT(int n) { void *volatile p = malloc((size_t)n); return p; }
static inline __attribute__((always_inline)) void *sow(int n) { return PLANT(n); }
__attribute__((noinline)) static void harvest(void) { for (int i = 0; i < 50; i++) free(sow(i + 1)); puts("done"); }
int main(void)
{
    char byte;
    puts("ready"); fflush(stdout);
    if (read(0, &byte, 1) != 1) return 1;
    harvest(); fflush(stdout);
    while (read(0, &byte, 1) > 0) {}
    return 0;
}
"""
PRELINKED = ("-pie", "-Wl,-Ttext-segment=0x41000000")  # a base of its own, and mapped elsewhere
CHAIN = "main;harvest;sow;plant"


def build(path, *flags, source=SOURCE):
    code = path.parent / "field.c"
    code.write_text(source)
    subprocess.run(["gcc", "-O2", "-g", "-DPLANT=plant", *flags, "-o", path, code], check=True, timeout=TIMEOUT)
    return path


def folded(trace, *args):
    done = alys("convert", "-f", "folded-stacks", "--value", "alloc_objects", *args, trace, "-")
    assert done.returncode == 0, done.stderr
    return done.stdout


def record(started, program, trace, *args, while_running=None, argv=()):
    """Attaches, runs, and changes the program's file before the recording ends."""
    running = started.program(str(program), *argv).wait_ready()
    tracer = started.tracer("-p", running.pid, "-o", trace, *args).recording()
    running.go()
    assert running.line() == "done"
    if while_running:
        while_running(running)
    tracer.stop()
    return tracer


@pytest.mark.parametrize("flags", [(), ("-no-pie", "-fno-pie"), ("-static",), ("-static-pie",), PRELINKED], ids=" ".join)
def test_kinds(started, tmp_path, flags):
    program = build(tmp_path / "field", *flags)
    record(started, program, tmp_path / "t.alys")
    assert re.search(f"{CHAIN} 50$", folded(tmp_path / "t.alys"), re.M)


def test_debug_link(started, tmp_path):
    program = build(tmp_path / "field")
    subprocess.run(f"objcopy --only-keep-debug {program} {program}.debug && strip {program} &&"
                   f" objcopy --add-gnu-debuglink={program}.debug {program}", shell=True, check=True)
    record(started, program, tmp_path / "t.alys")
    assert f"{CHAIN} 50\n" in folded(tmp_path / "t.alys")


def test_replaced_while_running(started, tmp_path):
    program, other = build(tmp_path / "field"), tmp_path / "other"
    shutil.copy("/bin/true", other)
    record(started, program, tmp_path / "t.alys", while_running=lambda _: other.rename(program))
    assert f"{CHAIN} 50\n" in folded(tmp_path / "t.alys")


def test_ended_and_deleted(started, tmp_path):
    program = build(tmp_path / "field")

    def end(running):
        running.finish()
        program.unlink()

    running = started.program(str(program)).wait_ready()
    tracer = started.tracer("-p", running.pid, "-o", tmp_path / "t.alys").recording()
    running.go().line()
    end(running)
    assert tracer.wait() == 0, tracer.text
    assert f"{CHAIN} 50\n" in folded(tmp_path / "t.alys")


def test_truncated_while_running(started, tmp_path):
    """The file is truncated while it is mapped: the trace is complete, and reading it raised no SIGBUS."""
    library = build(tmp_path / "libfield.so", "-shared", "-fPIC", source="#include <stdlib.h>\n"
                    "void *plant(int n); void *plant(int n) { void *volatile p = malloc((size_t)n); return p; }\n")
    program = build(tmp_path / "field", f"-L{tmp_path}", f"-Wl,-rpath,{tmp_path}", "-Wl,--no-as-needed", "-lfield",
                    source=SOURCE.replace("malloc((size_t)n)", "gone(n)").replace("#include <unistd.h>", """
                    #include <unistd.h>
                    void *plant(int n);
                    #define gone plant
                    #undef PLANT
                    #define PLANT grow"""))
    record(started, program, tmp_path / "t.alys", while_running=lambda _: os.truncate(library, 0))
    text = folded(tmp_path / "t.alys")
    assert re.search(r"main;harvest;sow;grow;libfield\.so\+0x[0-9a-f]+ 50$|main;harvest;sow;grow;plant 50$", text, re.M)


def test_closed_library(started, tmp_path):
    build(tmp_path / "libfield.so", "-shared", "-fPIC", source="#include <stdlib.h>\n"
          "void *plant(int n); void *plant(int n) { void *volatile p = malloc((size_t)n); return p; }\n")
    program = build(tmp_path / "field", source=f"""
        #include <dlfcn.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <unistd.h>
        int main(void)
        {{
            char byte;
            puts("ready"); fflush(stdout);
            if (read(0, &byte, 1) != 1) return 1;
            void *lib = dlopen("{tmp_path}/libfield.so", RTLD_NOW);
            void *(*plant)(int) = (void *(*)(int))dlsym(lib, "plant");
            for (int i = 0; i < 50; i++) {{ free(plant(i + 1)); usleep(40000); }}
            dlclose(lib);
            puts("done"); fflush(stdout);
            while (read(0, &byte, 1) > 0) {{}}
            return 0;
        }}""")
    record(started, program, tmp_path / "t.alys")
    counts = [int(n) for n in re.findall(r"(?:^|;)plant (\d+)$", folded(tmp_path / "t.alys"), re.M)]
    assert sum(counts) == 50  # the first ones may come before the table for its stack walk


def test_other_mount_namespace(started, tmp_path):
    """Outside of its namespace, the program's path does not exist or names another file."""
    program, hidden = build(tmp_path / "field"), tmp_path / "hidden"
    hidden.mkdir()
    inside = f"mount -t tmpfs none {hidden} && cp {program} {hidden}/field && exec {hidden}/field"
    record(started, shutil.which("unshare"), tmp_path / "t.alys", argv=("-m", "sh", "-c", inside))
    assert not (hidden / "field").exists()
    assert f"{CHAIN} 50\n" in folded(tmp_path / "t.alys")


def mapped(pid, path):
    """The difference between an address in the process and in the file."""
    first = next(line for line in Path(f"/proc/{pid}/maps").read_text().splitlines() if line.endswith(str(path)))
    return int(first.split("-")[0], 16)


def lines_of_llvm(path, addresses):
    out = subprocess.run([LLVM, f"--obj={path}", "--inlines", "--output-style=LLVM"], capture_output=True, text=True, check=True,
                         input="".join(f"{a:#x}\n" for a in addresses)).stdout
    blocks = out.strip("\n").split("\n\n")
    assert len(blocks) == len(addresses)
    return {a: [line.rsplit(":", 2) for line in b.split("\n")[1::2]] for a, b in zip(addresses, blocks)}


def physical_frames(stack):
    """[(address, [file:line:column of its calls, innermost first])]"""
    frames, calls = [], []
    for f in stack:
        calls.append([f.get("file", "??"), str(f.get("line", 0)), str(f.get("column", 0))])
        if not f.get("inlined"):
            frames.append((f["ip"], calls))
            calls = []
    return frames


# With --debug, Crystal inlines hardly anything.
@pytest.mark.skipif(not LLVM, reason="no llvm-symbolizer")
@pytest.mark.parametrize("name, deepest", [("server", 6), ("server.both", 1)], ids=["--release", "--release --debug"])
def test_crystal_server_like_llvm(started, tmp_path, name, deepest):
    """Every frame of a real recording has the lines that llvm-symbolizer finds, inlined calls included."""
    program = DEMO / name
    make(program)
    server = started.server(name)
    base = mapped(server.pid, program)
    tracer = started.tracer("-p", server.pid, "-o", tmp_path / "t.alys", "--backtrace", "full").recording()
    for page in ["/", "/json", "/page/3", "/page/77"] * 5:
        urllib.request.urlopen(server.url + page, timeout=TIMEOUT).read()
    tracer.stop()
    chains = {}
    for event in each_event(convert(tmp_path / "t.alys", "json", tmp_path / "t.json", "--keep-allocator-frames")):
        for i, (ip, calls) in enumerate(physical_frames(event.get("stack", []))):
            chains[ip - base - (i > 0)] = calls
    theirs = lines_of_llvm(program, sorted(a for a in chains if 0 <= a < program.stat().st_size))
    known = {a: calls for a, calls in theirs.items() if all(file.endswith(".cr") for file, _, _ in calls)}
    wrong = [(hex(a), chains[a], calls) for a, calls in known.items() if chains[a] != calls]
    assert len(known) > 100 and max(map(len, known.values())) >= deepest
    assert not wrong, f"{len(wrong)} of {len(known)}: {wrong[:3]}"


NODE = """
function plantTree(n) { return Buffer.allocUnsafeSlow(6000 + n).length; }
function plantForest() { let t = 0; for (let i = 0; i < 3000; i++) t += plantTree(i); return t; }
setInterval(plantForest, 30);
console.log("ready");
"""


# A node that is the first process of its namespace, and has a /tmp of its own for names: others may be first in theirs.
FIRST = "exec 3< %s; mount -t tmpfs none /tmp && cat <&3 >/tmp/forest.js && exec 3<&- node --perf-basic-prof /tmp/forest.js"


@pytest.mark.skipif(not shutil.which("node"), reason="no node")
@pytest.mark.parametrize("first", [False, True], ids=["here", "pid namespace"])
def test_node(started, tmp_path, first, monkeypatch):
    monkeypatch.chdir(tmp_path)  # node leaves a log where it runs
    script = tmp_path / "forest.js"
    script.write_text(NODE)
    argv = ("unshare", "-pfm", "--kill-child", "--mount-proc", "sh", "-c", FIRST % script) if first else ("node", "--perf-basic-prof", script)
    running = started.program(shutil.which(argv[0]), *argv[1:]).wait_ready()
    pid = running.pid
    if first:
        pid = int(subprocess.run(["pgrep", "-P", str(running.pid)], capture_output=True, text=True, check=True).stdout)
    names = Path(f"/proc/{pid}/root/tmp/perf-{1 if first else pid}.map")
    # Until then it is interpreted, and has no code of its own that could be seen.
    wait_for(lambda: names.exists() and re.search(r":[*^]plantForest ", names.read_text(errors="replace")))
    tracer = started.tracer("-p", pid, "-d", 2, "-o", tmp_path / "t.alys").recording()
    assert tracer.wait() == 0
    text = folded(tmp_path / "t.alys")
    if not first:
        names.unlink()
    assert ";plantForest;" in text and ";listOnTimeout;" in text
    assert "node::" in text, "C++ frames are named too"
    with open(convert(tmp_path / "t.alys", "json", tmp_path / "t.json")) as lines:  # too long to be held whole
        assert any("plantForest" in line and "forest.js" in line for line in lines), "with file and line"


# Code made by hand, as a virtual machine makes it: push %rbp; mov %rsp,%rbp; mov $malloc,%rax; call *%rax; pop; ret.
FORKED = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static void *(*code)(size_t);
static char *path(int pid)
{
    static char out[64];
    snprintf(out, sizeof(out), "/tmp/perf-%d.map", pid);
    return out;
}
static void name(const char *as)
{
    FILE *f = fopen(path(getpid()), "w");
    fprintf(f, "%lx 20 %s\\n", (unsigned long)code, as);
    fclose(f);
}
int main(int argc, char **argv)
{
    unsigned char bytes[] = "\\x55\\x48\\x89\\xe5\\x48\\xb8........\\xff\\xd0\\x5d\\xc3", byte;
    void *(*target)(size_t) = malloc;
    memcpy(bytes + 6, &target, 8);
    code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(code, bytes, sizeof(bytes));
    name("made_by_parent");
    puts("ready"); fflush(stdout);
    if (read(0, &byte, 1) != 1) return 1;
    free(code(11));
    int child = fork();
    if (child == 0) {
        if (argc > 1) name("made_by_child");
        for (int i = 0; i < 50; i++) { free(code(77)); usleep(20000); }
        _exit(0);
    }
    wait(NULL);
    puts("done"); fflush(stdout);
    while (read(0, &byte, 1) > 0) {}
    unlink(path(getpid()));
    unlink(path(child));
    return 0;
}
"""


@pytest.mark.parametrize("own", [False, True], ids=["parent's names", "its own names"])
def test_forked_virtual_machine(started, tmp_path, own):
    program = build(tmp_path / "vm", source=FORKED)
    running = started.program(str(program), *(["own"] if own else [])).wait_ready()
    tracer = started.tracer("-p", running.pid, "-o", tmp_path / "t.alys", "--follow").recording()
    running.go()
    assert running.line() == "done"
    tracer.stop()
    running.finish()
    text = folded(tmp_path / "t.alys")
    for line in ("made_by_parent 1", "made_by_child 50") if own else ("made_by_parent 51",):
        assert re.search(f";{line}$", text, re.M), text


# --- traces of another machine ----------------------------------------------------------------------

@pytest.fixture
def foreign(started, tmp_path):
    """A trace without names, of a stripped program that is deleted; an unstripped copy is under root/."""
    program = build(tmp_path / "field")
    root = tmp_path / "root"
    kept = root / str(program).lstrip("/")
    kept.parent.mkdir(parents=True)
    shutil.copy(program, kept)
    subprocess.run(["strip", program], check=True)
    record(started, program, tmp_path / "t.alys")
    program.unlink()
    assert "plant" not in folded(tmp_path / "t.alys")
    return tmp_path / "t.alys", kept, root


def test_symbolize(foreign, tmp_path):
    trace, kept, root = foreign
    assert f"{CHAIN} 50\n" in folded(trace, "--symbolize", kept)
    assert f"{CHAIN} 50\n" in folded(trace, "--sysroot", root)
    styled = folded(trace, "--symbolize", kept, "--crystal-style")
    assert re.search(r"field\.c:7:\d+ in 'harvest';[^;]*field\.c:6:\d+ in 'sow';[^;]*field\.c:5:\d+ in 'plant' 50$",
                     styled, re.M)


def test_another_build(foreign, tmp_path):
    trace, kept, root = foreign
    build(kept, "-O1")
    refused = alys("convert", "-f", "folded-stacks", "--symbolize", kept, trace, "-")
    assert refused.returncode == 1 and not refused.stdout
    assert "another build" in refused.stderr and "--any-build" in refused.stderr
    assert alys("convert", "-f", "folded-stacks", "--symbolize", kept, "--any-build", trace, "-").returncode == 0
    left_out = alys("convert", "-f", "folded-stacks", "--sysroot", root, trace, "-")
    assert left_out.returncode == 0 and "other builds" in left_out.stderr and "plant" not in left_out.stdout
    nonsense = alys("convert", "--any-build", trace, "-")
    assert nonsense.returncode == 1 and "--symbolize" in nonsense.stderr


def test_reports_find_names_as_convert_does(foreign, tmp_path):
    trace, kept, root = foreign

    def functions(*args):
        return alys("report", "--show", "alloc", "--by", "function", "-f", "tsv", *args, trace)

    assert "plant" in functions("--sysroot", root).stdout
    assert "plant" in functions("--symbolize", kept, "--raw-names").stdout
    page = tmp_path / "page.html"
    assert alys("report", "--html", page, "--sysroot", root, trace).returncode == 0 and page.stat().st_size > 10000
    build(kept, "-O1")
    refused = functions("--symbolize", kept)
    assert refused.returncode == 1 and "another build" in refused.stderr and not refused.stdout
    assert functions("--symbolize", kept, "--any-build").returncode == 0
    nonsense = functions("--raw-names")
    assert nonsense.returncode == 1 and "--sysroot" in nonsense.stderr
    live = alys("report", "-p", os.getpid(), "--sysroot", root)
    assert live.returncode == 2 and "for a trace" in live.stderr


def test_raw_names(started, tmp_path):
    code = SOURCE.replace("void *PLANT(int n)", 'void *PLANT(int n) __asm__("_ZN5plant4treeEi"); void *PLANT(int n)')
    program = build(tmp_path / "field", source=code)
    record(started, program, tmp_path / "t.alys")
    record(started, program, tmp_path / "raw.alys", "--raw-names")
    assert "plant::tree(int)" in folded(tmp_path / "t.alys")
    assert "_ZN5plant4treeEi 50" in folded(tmp_path / "raw.alys")
    assert "_ZN5plant4treeEi 50" in folded(tmp_path / "t.alys", "--raw-names", "--symbolize", program)


def serve_debug(program, tmp_path):
    """The debug file as a server has it, under served/; an empty cache, and an environment without user settings."""
    build_id = re.search(r"Build ID: (\w+)", subprocess.run(["readelf", "-n", program], capture_output=True, text=True).stdout)[1]
    where = tmp_path / "served" / "buildid" / build_id
    where.mkdir(parents=True)
    subprocess.run(["objcopy", "--only-keep-debug", program, where / "debuginfo"], check=True)
    cache = tmp_path / "cache"
    cache.mkdir()
    os.chown(cache, 65534, 65534)
    for path in [tmp_path, *tmp_path.parents]:
        if str(path) != "/tmp" and str(path).startswith("/tmp"):
            path.chmod(0o755)
    return cache, {k: v for k, v in os.environ.items() if not k.startswith(("SUDO_", "DEBUGINFOD_"))}


needs_libdebuginfod = pytest.mark.skipif(not os.path.exists("/usr/lib/x86_64-linux-gnu/libdebuginfod.so.1"), reason="no libdebuginfod")


@needs_libdebuginfod
def test_debuginfod(foreign, tmp_path):
    """The server is a directory: libdebuginfod accepts file:// as well. It is never asked as root, but as sudo's user."""
    trace, kept, _ = foreign
    cache, plain = serve_debug(kept, tmp_path)
    served = {"DEBUGINFOD_URLS": f"file://{tmp_path}/served", "DEBUGINFOD_CACHE_PATH": str(cache)}
    args = ("convert", "-f", "folded-stacks", "--value", "alloc_objects", "--debuginfod", trace, "-")
    as_root = alys(*args, env={**plain, **served})
    assert as_root.returncode == 1 and "as root" in as_root.stderr
    nobody = alys(*args, env={**plain, **served, "SUDO_UID": "65534"})
    assert nobody.returncode == 0 and f"{CHAIN} 50\n" in nobody.stdout, nobody.stderr
    assert all(p.stat().st_uid == 65534 for p in cache.rglob("*"))
    no_servers = alys(*args, env=plain)
    assert no_servers.returncode == 1 and "DEBUGINFOD_URLS" in no_servers.stderr
    silent = alys("convert", "-f", "folded-stacks", trace, "-", env={**plain, **served, "SUDO_UID": "65534"})
    assert silent.returncode == 0 and "plant" not in silent.stdout, "never unasked"


class SlowFile(http.server.BaseHTTPRequestHandler):
    """A slow server that sends a file in pieces."""

    def do_GET(self):
        path = self.server.root / self.path.lstrip("/")
        if not path.is_file():
            self.send_error(404)
            return
        data = path.read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        for i in range(16):
            self.wfile.write(data[len(data) * i // 16:len(data) * (i + 1) // 16])
            time.sleep(0.25)

    def log_message(self, *args):
        pass


@needs_libdebuginfod
def test_debuginfod_says_how_far_it_is(foreign, tmp_path):
    trace, kept, _ = foreign
    cache, plain = serve_debug(kept, tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), SlowFile) as server:
        server.root = tmp_path / "served"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        env = {**plain, "DEBUGINFOD_URLS": f"http://127.0.0.1:{server.server_port}", "DEBUGINFOD_CACHE_PATH": str(cache),
               "SUDO_UID": "65534"}
        said, out = on_terminal("convert", "-f", "folded-stacks", "--value", "alloc_objects", "--debuginfod", trace, "-", env=env)
        server.shutdown()
    assert f"{CHAIN} 50\n" in out, said
    assert re.search(r"fetching debug information \[#* +\] +\d+%", said), said


# Four million units of debug information: more than a worker may have, so several die of it, one after another.
HOG = """
.section .note.GNU-stack
.section .debug_abbrev
.byte 1, 0x11, 0, 0, 0, 0
.section .debug_info
.rept 4000000
.long 8
.short 4
.long 0
.byte 8, 1
.endr
"""


def on_terminal(*args, env=None):
    """stderr of a run in a terminal."""
    ours, theirs = pty.openpty()
    proc = subprocess.Popen([str(ALYS), *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs, env=env)
    os.close(theirs)
    said = b""
    try:
        while more := os.read(ours, 4096):
            said += more
    except OSError:
        pass  # the other end is closed
    os.close(ours)
    out = proc.stdout.read()
    assert proc.wait() == 0, said
    return said.decode(), out.decode()


def test_hog(started, tmp_path):
    """A worker that exceeds its limits: the trace is complete, the reason is counted, and a progress bar appears after a second."""
    hog = tmp_path / "hog.s"
    hog.write_text(HOG)
    program = build(tmp_path / "field", "-g0", str(hog))
    record(started, program, tmp_path / "t.alys")
    info = alys("info", tmp_path / "t.alys").stdout
    # On a slow machine they may not have died yet.
    assert sum(int(n) for n in re.findall(r"symbols-worker-(?:died|silent) +(\d+) ", info)) == 3, info
    args = ("convert", "-f", "folded-stacks", "--value", "alloc_objects", "--symbolize", program, tmp_path / "t.alys", "-")
    begun = time.monotonic()
    said, text = on_terminal(*args)
    took = time.monotonic() - begun
    assert "main;harvest;plant 50\n" in text, text  # by the symbol table: no inlined calls
    # Three workers die of it. How long that takes depends on how fast the kernel gives memory.
    if took > 1.5:
        assert re.search(r"\rresolving names \[#* *\] +\d+%", said) and "\r\033[K" in said, said


def test_no_progress_bar_without_need(started, tmp_path):
    program = build(tmp_path / "field")
    record(started, program, tmp_path / "t.alys")
    for _ in range(20):  # a machine that stalls for a second at each try needs the bar
        begun = time.monotonic()
        said, _ = on_terminal("convert", "-f", "folded-stacks", "--raw-names", "--symbolize", program, tmp_path / "t.alys", "-")
        took = time.monotonic() - begun
        assert "resolving" not in said or took > 1, said
        if took < 1:
            break


# --- hostile names ----------------------------------------------------------------------------------

EVIL = {
    "escape": "\\033]0;owned\\007\\033[2J", "c1": "\\302\\2332J", "bidi": "\\342\\200\\256evil", "latin": "\\377\\376",
    "lines": "a\\nb\\rc\\td", "markup": "</text><script>alert(1)</script>&", "quote": "\\\"'", "folded": "a;b 77",
    "isolate": "\\342\\201\\246x", "separator": "\\342\\200\\250x", "long": "x" * 10240, "percent": "%s%n%1$*1$d",
}


def evil_source():
    parts = ["#include <stdlib.h>", "#include <stdio.h>", "#include <unistd.h>"]
    for name, label in EVIL.items():
        parts.append(f'__attribute__((noinline)) void *f_{name}(int n) __asm__("evil_{name}{label}");')
        parts.append(f"void *f_{name}(int n) {{ void *volatile p = malloc((size_t)n); return p; }}")
    calls = " ".join(f"free(f_{name}(9));" for name in EVIL)
    return "\n".join(parts) + (
        '\nint main(void) { char b; puts("ready"); fflush(stdout); if (read(0, &b, 1) != 1) return 1; '
        f'{calls} puts("done"); fflush(stdout); while (read(0, &b, 1) > 0) {{}} return 0; }}\n')


def assert_clean(data, what):
    text = data.decode("utf-8")  # valid, or the test fails here
    bad = re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]", text)
    assert not bad, f"{what}: {bad.group()!r} in {text[max(0, bad.start() - 60):bad.end() + 20]!r}"


def unpacked(data):
    if data[:2] == b"\x1f\x8b":
        return gzip.decompress(data)
    if data[:4] == b"\x28\xb5\x2f\xfd":
        if not shutil.which("zstd"):
            return b""
        return subprocess.run(["zstd", "-dc"], input=data, capture_output=True, check=True).stdout
    return data


@pytest.mark.parametrize("flags", [("-g",), ("-g0",)], ids=["DWARF", "tables"])
def test_hostile_names(started, tmp_path, flags):
    program = tmp_path / "evil\x1b]0;x\x07\u202e\n"
    code = tmp_path / "evil.c"
    code.write_text(evil_source())
    subprocess.run(["clang-14", "-O1", *flags, "-o", program, code], check=True, timeout=TIMEOUT)
    trace = tmp_path / "t.alys"
    tracer = record(started, program, trace)
    assert_clean(tracer.text.encode().replace(b"\r\x1b[K", b""), "record -v")
    outputs = {"info": subprocess.run([ALYS, "info", trace], capture_output=True)}
    for fmt in ("json", "pprof", "folded-stacks", "flamegraph", "text", "html", "speedscope", "dhat", "massif", "heaptrack"):
        for style in ((), ("--crystal-style",)):
            args = [ALYS, "convert", "-f", fmt, *style, "--keep-allocator-frames", trace, "-"]
            outputs[" ".join(map(str, args[2:-2]))] = subprocess.run(args, capture_output=True)
    for fmt in ("text", "markdown", "tsv", "json", "csv", "tally"):
        for by in ("stack", "site", "function", "file", "library", "type", "thread", "process"):
            outputs[f"report {fmt} {by}"] = subprocess.run(
                [ALYS, "report", "--show", "alloc", "--keep-allocator-frames", "-f", fmt, "--by", by, trace], capture_output=True)
    outputs["report callers"] = subprocess.run([ALYS, "report", "--show", "alloc", "--callees", "main", trace], capture_output=True)
    outputs["diff"] = subprocess.run([ALYS, "diff", trace, trace], capture_output=True)
    for what, done in outputs.items():
        assert done.returncode == 0, (what, done.stderr)
        assert_clean(done.stderr, what)
        data = unpacked(done.stdout)
        if "-f pprof" in what:
            # Between its texts are lengths and numbers: bytes of any value.
            texts = "".join(pprof_rules.Profile(done.stdout).strings)
            assert "evil_escape\\x1b" in texts
            assert_clean(texts.encode(), what)
            continue
        if "html" in what:
            assert b"<script>alert(1)" not in data
            continue  # its own scripts may hold anything; the data in it is packed
        assert_clean(data, what)
        assert b"<script>alert(1)" not in data or "flamegraph" not in what
    assert "evil_escape" in outputs["-f folded-stacks --keep-allocator-frames"].stdout.decode()


def test_hostile_file_in_doctor(started, tmp_path):
    program = tmp_path / "evil\x1b[2J\u202e"
    build(tmp_path / "field").rename(program)
    running = started.program(str(program)).wait_ready()
    done = subprocess.run([ALYS, "doctor", "--probes", str(running.pid)], capture_output=True)
    assert done.returncode == 0
    assert_clean(done.stdout + done.stderr, "doctor --probes")
