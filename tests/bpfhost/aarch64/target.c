/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program for aarch64 that writes down its own stack, as struct snapshot (snapshot.h), at the entry of `probed`. Run by
 * record in this folder. argv: case, file.
 */
#include <alloca.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "snapshot.h"

#define NOINLINE __attribute__((noinline, noclone))

static const char *to;
static volatile int zero;

/* Its first instruction: `probed` has built no frame yet. */
__attribute__((used)) void snapshot_take(const uint64_t *regs);
void probed(void);
asm(".text\n.globl probed\n.type probed, %function\nprobed:\n"
    ".cfi_startproc\n"
    "hint #34\n" /* bti c */
    "sub sp, sp, #32\n.cfi_def_cfa_offset 32\n"
    "str x30, [sp, #24]\n.cfi_offset 30, -8\n"
    "str x29, [sp, #8]\n"
    "add x0, sp, #32\nstr x0, [sp, #0]\n"
    "mov x0, sp\n"
    "bl snapshot_take\n"
    "ldr x30, [sp, #24]\n.cfi_restore 30\n"
    "add sp, sp, #32\n.cfi_def_cfa_offset 0\n"
    "ret\n.cfi_endproc\n.size probed, .-probed\n");

static void copy_maps(int fd)
{
	char buf[4096];
	ssize_t n;
	int maps = open("/proc/self/maps", O_RDONLY);
	while ((n = read(maps, buf, sizeof(buf))) > 0)
		if (write(fd, buf, (size_t)n) != n)
			abort();
	close(maps);
}

/* regs: sp, x29, -, x30, as `probed` has stored them. */
void snapshot_take(const uint64_t *regs)
{
	static struct snapshot s;
	s.ip = (uint64_t)(uintptr_t)probed;
	s.sp = regs[0];
	s.fp = regs[1];
	s.link = regs[3];
	register uint64_t mask asm("x30") = 0xff7fffffffffffffull;
	asm volatile("hint #7" : "+r"(mask));
	s.pac_mask = mask ^ 0xff7fffffffffffffull;
	memcpy(s.stack, (const void *)(uintptr_t)s.sp, sizeof(s.stack));
	int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, &s, sizeof(s)) != sizeof(s))
		abort();
	copy_maps(fd);
	_exit(0);
}

NOINLINE static int plain(int n)
{
	probed();
	return n + zero;
}

NOINLINE static int deep(int n)
{
	int r = n ? deep(n - 1) : plain(n);
	return r + zero;
}

NOINLINE static int wide(int n)
{
	volatile char room[5000];
	room[n] = 1;
	return deep(3) + room[n];
}

NOINLINE static int dynamic(int n)
{
	volatile char *room = alloca((size_t)n + 40);
	room[n] = 1;
	return plain(n) + room[n];
}

static int compare(const void *a, const void *b)
{
	probed();
	return *(const int *)a - *(const int *)b;
}

static int sorted(int n)
{
	int v[] = { 3, n, 2 };
	qsort(v, 3, sizeof(*v), compare);
	return v[0];
}

static int many(int n)
{
	volatile int kept[300];
	for (int i = 0; i < 300; i++)
		kept[i] = n + i;
	return deep(60) + kept[n];
}

int main(int argc, char **argv)
{
	static int (*const cases[])(int) = { plain, deep, wide, dynamic, sorted, many };
	if (argc != 3)
		return 2;
	to = argv[2];
	return cases[atoi(argv[1])](5);
}
