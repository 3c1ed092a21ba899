# SPDX-License-Identifier: Apache-2.0
"""A library with its own malloc and an arbitrary constructor."""

import os
import subprocess

OWN_ALLOCATOR = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
static char heap[1 << 26];
static size_t used;
void *malloc(size_t n)
{
    if (n > sizeof(heap) - used - 32)
        return NULL;
    void *p = heap + used;
    used += (n + 31) & ~15ull;
    asm volatile("jmp 1f; 1:" : "+a"(p)); /* an exit that the kernel emulates */
    return p;
}
void free(void *p) { if (p == heap + sizeof(heap)) used = 0; }
__attribute__((constructor)) static void begin(void) { CONSTRUCTOR; }
"""


def own_library(tmp_path, constructor):
    source = tmp_path / "own.c"
    source.write_text(OWN_ALLOCATOR.replace("CONSTRUCTOR", constructor))
    library = tmp_path / "libown.so"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-fno-builtin", "-o", library, source], check=True)
    os.chmod(library, 0o644)
    return library
