# SPDX-License-Identifier: Apache-2.0
"""Stacks, symbols, build ids and probes in files of several linkers, compared with what the program knows of itself."""

import collections
import re
import subprocess

import pytest

from conftest import ROOT, alys, assert_law, events_of

LINKERS = {"bfd": ["-fuse-ld=bfd"], "gold": ["-fuse-ld=gold"], "lld": ["-fuse-ld=lld"], "mold": ["-B/usr/libexec/mold"]}
START = ["main", "__libc_start_call_main", "__libc_start_main", "_start"]
CALLS = 50

LIBRARY = """
#include <stdlib.h>
#include <string.h>
static const char pattern[3000] = "constants before the code";
void *volatile kept;
__attribute__((noipa)) void library_leaf(int n) { kept = malloc(n); memcpy(kept, pattern, n); }
__attribute__((noipa)) void site_library(int n) { library_leaf(n + 1000); __asm__ volatile(""); }
"""
PROGRAM = """
#include <stdlib.h>
#include <unistd.h>
void site_library(int n);
void *volatile held;
void *(*volatile allocate)(size_t) = malloc; /* pointers to relocate */
__attribute__((noipa)) void program_leaf(int n) { held = allocate(n); __asm__ volatile(""); }
__attribute__((noipa)) void site_program(int n) { program_leaf(n + 500); __asm__ volatile(""); }
int main(int argc, char **argv)
{
    if (argc > 1) { write(1, "ready\\n", 6); read(0, &argc, 1); }
    for (int i = 0; i < CALLS; i++) { site_program(i); site_library(i); }
    return 0;
}
"""
WANTED = {
    **{500 + i: ["program_leaf", "site_program", *START] for i in range(CALLS)},
    **{1000 + i: ["library_leaf", "site_library", *START] for i in range(CALLS)},
}
OWN = """
#include <stddef.h>
static const char before[5000] = "constants before the code";
static char arena[1 << 20];
static size_t used;
__attribute__((noipa)) void *malloc(size_t n) { size_t at = used; used += (n + 31) & ~15ul; return arena + at + before[4000]; }
__attribute__((noipa)) void *calloc(size_t n, size_t size) { return malloc(n * size); }
__attribute__((noipa)) void *realloc(void *old, size_t n) { (void)old; return malloc(n); }
__attribute__((noipa)) void free(void *p) { __asm__ volatile("" : : "r"(p) : "memory"); }
"""

LAYOUTS = [
    ("bfd", "-Wl,-z,separate-code"), ("bfd", "-Wl,-z,noseparate-code"), ("gold", ""),
    ("lld", ""), ("lld", "-Wl,-z,separate-code"), ("lld", "-Wl,-z,separate-loadable-segments"), ("lld", "-Wl,--no-rosegment"),
    ("mold", ""), ("mold", "-Wl,-z,separate-code"), ("mold", "-Wl,-z,separate-loadable-segments"),
    # First addresses other than zero, as after prelink, and programs at fixed addresses.
    ("bfd", "-Wl,-Ttext-segment=0x3a0000"), ("gold", "-Wl,-Ttext=0x3a0000"), ("lld", "-Wl,--image-base=0x3a0000"),
    ("bfd", "-no-pie"), ("gold", "-no-pie"), ("lld", "-no-pie"), ("mold", "-no-pie"), ("mold", "-no-pie -Wl,--image-base=0x7a0000"),
    # Packed relocations. The loader of glibc 2.36 takes them only with a mark that lld 14 and mold 1.10 do not set.
    ("bfd", "-Wl,-z,pack-relative-relocs"), ("lld", "-static-pie -Wl,--pack-dyn-relocs=relr"),
    ("mold", "-static-pie -Wl,--pack-dyn-relocs=relr"),
    # Identical code folded, sections collected, large alignment.
    ("gold", "-Wl,--icf=all,--gc-sections"), ("lld", "-Wl,--icf=all,--gc-sections"), ("mold", "-Wl,--icf=all,--gc-sections"),
    ("lld", "-Wl,-z,max-page-size=0x200000"), ("bfd", "-Wl,-z,max-page-size=0x200000"),
    ("lld", "-static"), ("lld", "-static-pie"), ("mold", "-static"), ("mold", "-static-pie"),
]


def build(folder, name, source, linker, flags, library=False, extra=()):
    path, out = folder / f"{name}.c", folder / name
    path.write_text(source)
    flags = [f for f in flags.split() if not library or f not in ("-no-pie", "-static", "-static-pie")]
    shape = ["-shared", "-fPIC"] if library else [] if {"-no-pie", "-static", "-static-pie"} & set(flags) else ["-pie"]
    # -fomit-frame-pointer, so that frame pointers do not hide wrong unwind rows.
    command = ["gcc", "-O2", "-g", "-fPIE", "-fomit-frame-pointer", "-w", f"-DCALLS={CALLS}", *shape, "-o", out, path, *extra,
               "-Wl,--build-id=sha1", *LINKERS[linker], *flags]
    subprocess.run([str(c) for c in command], check=True)
    return out


def build_both(folder, linker, flags):
    if "-static" in flags:
        (folder / "library.c").write_text(LIBRARY)
        return [build(folder, "program", PROGRAM, linker, flags, extra=[folder / "library.c"])]
    library = build(folder, "liblibrary.so", LIBRARY, linker, flags, library=True)
    return [build(folder, "program", PROGRAM, linker, flags, extra=[library, f"-Wl,-rpath,{folder}"]), library]


def stacks_by_size(events, wanted):
    found = collections.defaultdict(list)
    for e in events:
        if e["kind"] == "alloc" and e["size"] in wanted:
            names = [f.get("name", "?") for f in e["stack"]]
            found[e["size"]].append([n for n in names if n != "malloc" and "__libc_start_main_impl" not in n])
    return dict(found)


def build_id(path):
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    return re.search(r"Build ID: (\w+)", notes).group(1)


@pytest.mark.bpf
@pytest.mark.beside
@pytest.mark.parametrize("linker, flags", LAYOUTS)
def test_stacks_and_names(linker, flags, tmp_path):
    files = build_both(tmp_path, linker, flags)
    trace = tmp_path / "t.alys"
    done = alys("record", "-o", trace, "--", files[0])
    assert done.returncode == 0, done.stderr
    assert_law(trace)
    assert stacks_by_size(events_of(trace, tmp_path), WANTED) == {size: [stack] for size, stack in WANTED.items()}
    info = alys("info", trace).stdout
    for path in files:
        assert f"{path} {build_id(path)[:64]}" in info
    assert set(re.findall(r"stack-end-(\S+)", info)) == {"complete"}


def trace_waiting(started, tmp_path, program, env=None):
    target = started.program(program, "wait", env=env).wait_ready()
    trace = tmp_path / "t.alys"
    tracer = started.tracer("-p", target.pid, "-o", trace).recording()
    target.go()
    assert target.finish() == 0
    assert tracer.wait() == 0, tracer.text
    assert_law(trace)
    assert stacks_by_size(events_of(trace, tmp_path), WANTED) == {size: [stack] for size, stack in WANTED.items()}
    return alys("info", trace).stdout


@pytest.mark.bpf
@pytest.mark.beside
@pytest.mark.parametrize("linker", LINKERS)
def test_a_process_that_runs(linker, tmp_path, started):
    """Attaching: mappings are read from /proc, not reported by the kernel."""
    trace_waiting(started, tmp_path, build_both(tmp_path, linker, "")[0])


@pytest.mark.bpf
@pytest.mark.beside
@pytest.mark.parametrize("linker", LINKERS)
def test_probes_in_an_allocator(linker, tmp_path, started):
    """Site analysis reads the right bytes, and probes go to the right places: every call is seen once."""
    own = build(tmp_path, "libown.so", OWN, linker, "", library=True)
    info = trace_waiting(started, tmp_path, build_both(tmp_path, linker, "")[0], {"LD_PRELOAD": str(own)})
    assert f"{own} {build_id(own)}" in info


def test_traces_from_before(tmp_path):
    """Older versions wrote addresses of such files one page too low. They are corrected when the file is available."""
    golden = ROOT / "tests" / "golden" / "layout"
    as_it_was = alys("convert", "-f", "folded-stacks", "--value", "alloc_objects", golden / "before.alys", "-").stdout
    assert "site_leaf" not in as_it_was
    done = alys("convert", "-f", "folded-stacks", "--value", "alloc_objects", "--symbolize", golden / "program",
                golden / "before.alys", "-")
    assert done.returncode == 0, done.stderr
    # The walk went wrong there; the frames that it did not reach are not in the trace.
    assert done.stdout == "[no-table];site_leaf 10\n"
