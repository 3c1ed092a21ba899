# SPDX-License-Identifier: Apache-2.0
"""Libraries loaded later into traced processes."""

import pytest

from own_allocator import own_library

pytestmark = [pytest.mark.bpf, pytest.mark.beside]

LOADER = """
import ctypes, select, sys
print("ready", flush=True)
sys.stdin.readline()
library = ctypes.CDLL("libmimalloc.so.2")
library.mi_malloc.argtypes = [ctypes.c_size_t]
library.mi_malloc.restype = ctypes.c_void_p
kept = []
while not select.select([sys.stdin], [], [], 0.01)[0]:
    kept += [library.mi_malloc(5000) for _ in range(10)]
"""


def test_library_loaded_later(started, daemon):
    """An allocator loaded by dlopen is probed soon, without polling."""
    program = started.program("/usr/bin/python3", "-c", LOADER).wait_ready()
    d = daemon("-p", program.pid, "--sample", "bytes:1")
    assert "looked for four times" not in d.status()["probes"]
    program.proc.stdin.write(b"g\n")
    program.proc.stdin.flush()
    d.until(lambda: program.pid in d.status()["table"] and d.top(program.pid, "alloc_space")[None] >= 100 * 5000)
    assert int(d.status()["probes"].split()[0]) == 2
    d.end()
    program.kill()


OPENER = """
import ctypes, sys
print("ready", flush=True)
sys.stdin.readline()
library = ctypes.CDLL(sys.argv[1])
library.malloc.argtypes = [ctypes.c_size_t]
library.malloc.restype = ctypes.c_void_p
print("open", flush=True)
while sys.stdin.readline() == "more\\n":
    kept = [library.malloc(5000) for _ in range(100)]
    print("done", flush=True)
"""


def test_library_that_stops_its_helper(started, daemon, tmp_path):
    """It is probed before the helper that tries it is given up, and so are libraries that are loaded after it."""
    library = own_library(tmp_path, 'if (!getenv("HOME")) for (;;) pause()')
    program = started.program("/usr/bin/python3", "-c", OPENER, library).wait_ready()
    d = daemon("-p", program.pid, "--sample", "bytes:1")

    def tell(word):
        program.proc.stdin.write(word + b"\n")
        program.proc.stdin.flush()
        return program.line()
    assert tell(b"go") == "open"
    d.until(lambda: "libown.so" in d.log())
    assert tell(b"more") == "done"
    d.until(lambda: "libown.so: not calibrated" in d.log())
    told = d.log()
    assert 0 < told.index("libown.so: 2 functions probed") < told.index("libown.so: not calibrated")
    d.until(lambda: d.top(program.pid, "alloc_space")[None] >= 100 * 5000)
    d.end()
    program.kill()
