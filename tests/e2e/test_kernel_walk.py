"""--walk kernel follows frame pointers, and says how each walk ended."""

import os
import subprocess

import pytest

from browser_driver import need
from conftest import TIMEOUT, alys, assert_law, events_of
from test_frames import build

pytestmark = pytest.mark.bpf

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

# Nothing below it: its frame pointer is 0, as the ABI wants it.
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
void *volatile kept;
__attribute__((noipa)) static void site(int n) { kept = malloc(n); __asm__ volatile(""); }
*/
import "C"

//go:noinline
func middle() { C.site(7001) }

func main() { middle() }
"""


def ends(program, folder, walk="kernel"):
    trace = folder / "t.alys"
    done = alys("record", "--walk", walk, "--backtrace-limit", "512", "-o", trace, "--", program)
    assert done.returncode == 0, done.stderr
    stacks = {e["size"]: [f.get("name", "?") for f in e["stack"]] for e in events_of(trace, folder) if e["size"] in (7001, 7002)}
    return stacks, assert_law(trace).rows


def test_whole(tmp_path):
    program = build(tmp_path, C + START, "gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-nostartfiles")
    stacks, rows = ends(program, tmp_path)
    assert stacks[7001][-4:] == ["site", "main", "begin", "_start"], stacks
    assert stacks[7002][-1] == "[truncated]", stacks
    assert rows["stack-end-truncated"] == 1 and "stack-end-no-frame-pointer" not in rows, rows


def test_without_frame_pointers(tmp_path):
    """Debian's libc keeps none: who has called main is not found."""
    stacks, rows = ends(build(tmp_path, C, "gcc", "-O1", "-g", "-fno-omit-frame-pointer"), tmp_path)
    assert stacks[7001][-1] == "[no-frame-pointer]" and "main" in stacks[7001], stacks
    assert rows["stack-end-no-frame-pointer"] >= 1 and "stack-end-unknown" not in rows, rows
    assert "no-frame-pointer" in alys("info", tmp_path / "t.alys").stdout


@pytest.fixture
def cgo(tmp_path):
    need("go")
    source, program = tmp_path / "program.go", tmp_path / "program"
    source.write_text(GO)
    subprocess.run(["go", "build", "-o", program, source], check=True, timeout=5 * TIMEOUT,
                   env={**os.environ, "CGO_ENABLED": "1", "GOCACHE": str(tmp_path / "cache"),
                        "GOPATH": str(tmp_path / "go"), "GO111MODULE": "off"})
    return program


def test_go_across_stacks(tmp_path, cgo):
    """Go keeps frame pointers, and asmcgocall leaves rbp alone: the goroutine is found from C, on another stack."""
    stacks, _ = ends(cgo, tmp_path)
    assert stacks[7001][-5:] == ["main.middle", "main.main", "runtime.main", "runtime.goexit", "[no-frame-pointer]"], stacks


def test_go_ends_where_its_stack_does(tmp_path, cgo):
    stacks, rows = ends(cgo, tmp_path, "sleep")
    assert stacks[7001][0] == "site" and stacks[7001][-2:] == ["runtime.asmcgocall", "[no-table]"], stacks
    assert rows["stack-end-no-table"] >= 1
