# SPDX-License-Identifier: Apache-2.0
"""--walk kernel follows frame pointers and reports how each walk ended; both kinds of walks on Go's stacks."""

import os
import re
import subprocess

import pytest

from browser_driver import need
from conftest import TIMEOUT, alys, assert_law, events_of
from source import build

pytestmark = [pytest.mark.bpf, pytest.mark.beside]

C = """
#include <stdlib.h>
void *volatile kept;
__attribute__((noipa)) static void site(int n) { kept = malloc(n); __asm__ volatile(""); }
__attribute__((noipa)) static void deep(int n, int left)
{
    left ? deep(n, left - 1) : site(n);
    __asm__ volatile("");
}
int main(void)
{
    site(7001);
    deep(7002, 300);
    return 0;
}
"""

# The outermost frame: its frame pointer is 0, as the ABI demands.
START = """
__asm__(".globl _start\\n.type _start,@function\\n_start: .cfi_startproc\\n.cfi_undefined rip\\n"
        "xor %ebp, %ebp\\nand $-16, %rsp\\ncall begin\\nhlt\\n.cfi_endproc\\n.size _start,.-_start\\n");
int main(void);
__attribute__((noipa, used)) void begin(void) { exit(main()); }
"""

GO = """
package main

/*
#include <stdlib.h>
extern void *volatile kept;
__attribute__((noipa)) static void site(int n) { kept = malloc(n); __asm__ volatile(""); }
extern void back(int);
__attribute__((noipa)) static void through(int n) { back(n); __asm__ volatile(""); }
*/
import "C"

//go:noinline
func middle() { C.site(7001) }

// Moves the goroutine's stack to a larger one while C is on it.
//
//go:noinline
func grow(left int) int {
	var room [512]byte
	room[left%512] = 1
	if left == 0 {
		return int(room[0])
	}
	return grow(left-1) + int(room[1])
}

//export back
func back(n C.int) {
	C.site(n)
	if n == 7002 {
		grow(100)
		C.site(7003)
	}
}

func main() {
	middle()
	C.through(7002)
}
"""
GO_C = "void *volatile kept;\n"


def ends(program, folder, walk="kernel"):
    trace = folder / "t.alys"
    done = alys("record", "--walk", walk, "--backtrace-limit", "512", "-o", trace, "--", program)
    assert done.returncode == 0, done.stderr
    stacks = {e["size"]: [f.get("name", "?") for f in e["stack"]] for e in events_of(trace, folder) if e["size"] in (7001, 7002, 7003)}
    return stacks, assert_law(trace).rows


def test_whole(tmp_path):
    program = build(tmp_path, C + START, "gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-nostartfiles")
    stacks, rows = ends(program, tmp_path)
    assert stacks[7001][-4:] == ["site", "main", "begin", "_start"], stacks
    assert stacks[7002][-1] == "[truncated]", stacks
    assert rows["stack-end-truncated"] == 1 and "stack-end-no-frame-pointer" not in rows, rows


def test_without_frame_pointers(tmp_path):
    """Debian's libc keeps no frame pointers, so main's caller is not found."""
    stacks, rows = ends(build(tmp_path, C, "gcc", "-O1", "-g", "-fno-omit-frame-pointer"), tmp_path)
    assert stacks[7001][-1] == "[no-frame-pointer]" and "main" in stacks[7001], stacks
    assert rows["stack-end-no-frame-pointer"] >= 1 and "stack-end-unknown" not in rows, rows
    assert "no-frame-pointer" in alys("info", tmp_path / "t.alys").stdout


BUILDS = {"plain": [], "pie": ["-buildmode=pie"], "stripped": ["-ldflags=-s -w"]}


@pytest.fixture
def cgo(request, tmp_path):
    need("go")
    folder = tmp_path / "go"
    folder.mkdir()
    (folder / "program.go").write_text(GO)
    (folder / "kept.c").write_text(GO_C)
    (folder / "go.mod").write_text("module program\n")
    subprocess.run(["go", "build", *BUILDS[request.param], "-o", tmp_path / "program"], cwd=folder, check=True, timeout=5 * TIMEOUT,
                   env={**os.environ, "CGO_ENABLED": "1", "GOCACHE": str(tmp_path / "cache"), "GOFLAGS": "-mod=mod"})
    return tmp_path / "program"


@pytest.mark.parametrize("cgo", ["plain", "pie"], indirect=True)
def test_go_across_stacks(tmp_path, cgo):
    """Go keeps frame pointers, and asmcgocall preserves rbp: from C the walk reaches the goroutine on its other stack."""
    stacks, _ = ends(cgo, tmp_path)
    assert stacks[7001][-5:] == ["main.middle", "main.main", "runtime.main", "runtime.goexit", "[no-frame-pointer]"], stacks


def go_stack(n):
    """The callers of C code in Debian 12's Go, up to main.main; the frame before it is `middle` or C again."""
    call = ["runtime.asmcgocall", "runtime.cgocall"]
    callback = ["main.back", "_cgoexp_back", "runtime.cgocallbackg1", "runtime.cgocallbackg", "runtime.cgocallbackg", "runtime.cgocallback",
                "crosscall2", "back", "through", *call]
    bottom = ["main.main", "runtime.main", "runtime.goexit"]
    return ["site", *call, "main._Cfunc_site", *{7001: ["main.middle", *bottom], 7002: [*callback, "main._Cfunc_through", *bottom],
                                                 7003: [*callback, "[no-table]"]}[n]]


@pytest.mark.parametrize("cgo", BUILDS, indirect=True)
def test_go_to_its_bottom(request, tmp_path, cgo):
    """The walk follows each of Go's stack switches, not only frame pointers, down to goexit, and counts as complete."""
    stacks, rows = ends(cgo, tmp_path, "sleep")
    for n in (7001, 7002, 7003):
        wanted = go_stack(n)
        if "stripped" in request.node.name:
            assert len(stacks[n]) == len(wanted) and stacks[n][-1].startswith("[") == wanted[-1].startswith("["), stacks
        else:
            assert [re.sub("_cgoexp_.*_back", "_cgoexp_back", name) for name in stacks[n]] == wanted
    # Go's runtime begins where no rule is, and starts as many threads of its own as it happens to need.
    assert rows["stack-end-complete"] > max(2, rows["stack-end-no-table"]), rows


# As Go writes it from 1.21 on (rbp is saved), with the offsets of 1.24; g is what the caller makes of it.
NEW_GO = r"""
#include <stdlib.h>
#include <sys/mman.h>
void *volatile kept;
__attribute__((section(".go.buildinfo"), used)) static const char mark[] = "go";
struct g { char *lo, *hi; };
__attribute__((noipa)) static int site(long n) { kept = malloc(n); return 0; }
int go_caller(int (*fn)(long), long n, struct g *g, char *stack);
__asm__(
    ".text\n.zero 32, 0x90\n.globl asmcgocall\n.type asmcgocall,@function\nasmcgocall:\n"
    "push %rbp\nmov %rsp,%rbp\nmov %rdi,%rax\nmov %rsp,%r9\ntest %rdx,%rdx\nje 1f\n"
    "mov %rcx,%rsp\nsub $16,%rsp\nand $-16,%rsp\nmov %rdx,8(%rsp)\nmov 8(%rdx),%rdi\nsub %r9,%rdi\nmov %rdi,(%rsp)\n"
    "mov %rsi,%rdi\ncall *%rax\n"
    "mov 8(%rsp),%rdi\nmov 8(%rdi),%rsi\nsub (%rsp),%rsi\nmov %rdi,%r8\nmov %rsi,%rsp\nmov %eax,0x20(%rsp)\npop %rbp\nret\n"
    "1:sub $16,%rsp\nand $-16,%rsp\nmovq $0,8(%rsp)\nmov %r9,(%rsp)\nmov %rsi,%rdi\ncall *%rax\n"
    "mov (%rsp),%rsi\nmov %rsi,%rsp\nmov %eax,0x20(%rsp)\npop %rbp\nret\n.size asmcgocall,.-asmcgocall\n"
    ".globl go_caller\n.type go_caller,@function\ngo_caller:\n"
    "push %rbp\nmov %rsp,%rbp\nsub $48,%rsp\ncall asmcgocall\nleave\nret\n.size go_caller,.-go_caller\n.zero 32, 0x90\n");
int main(void)
{
    char *other = (char *)mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + (1 << 20);
    struct g g = { 0, (char *)&g + 64 };
    go_caller(site, 7001, &g, other);
    go_caller(site, 7002, 0, other);
    return 0;
}
"""


def test_newer_go(tmp_path):
    stacks, rows = ends(build(tmp_path, NEW_GO, "gcc", "-O1", "-g"), tmp_path, "sleep")
    whole = ["site", "asmcgocall", "go_caller", "main", "__libc_start_call_main", "__libc_start_main", "_start"]
    assert stacks == {7001: whole, 7002: whole}
    assert "stack-end-no-table" not in rows, rows
