/* flags: -fno-builtin */
/*
 * A program's own allocator, with unusual exits: calloc ends in a tail call of memset, reallocarray in one of realloc, and with
 * the argument "away" malloc leaves by a computed jump, whose destination cannot be found in the code.
 */
#include "truth.h"

#define BLOCK 4096
#define BLOCKS 4096

static _Alignas(16) char arena[BLOCKS][BLOCK];
static size_t used;

__attribute__((noipa)) static void *take(size_t n)
{
	return n <= BLOCK && used < BLOCKS ? arena[used++] : NULL;
}

__attribute__((noipa)) static void *take_away(size_t n)
{
	return n == 77 && used < BLOCKS ? arena[used++] : NULL;
}

static void *(*volatile way)(size_t) = take_away;

__attribute__((noipa)) void *malloc(size_t n)
{
	return n == 77 ? way(n) : take(n);
}

__attribute__((noipa)) void free(void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

__attribute__((noipa)) void *calloc(size_t n, size_t size)
{
	void *p = take(n * size);
	if (!p)
		return NULL;
	return memset(p, 0, n * size);
}

__attribute__((noipa)) void *realloc(void *old, size_t n)
{
	void *p = take(n);
	if (p && old)
		memcpy(p, old, n);
	return p;
}

__attribute__((noipa)) void *reallocarray(void *old, size_t n, size_t size)
{
	return realloc(old, n * size);
}

SITE void *site_calloc(size_t n) { return ALLOC(calloc(n / 8, 8), n); }
SITE void *site_reallocarray(size_t n) { return ALLOC(reallocarray(NULL, n / 8, 8), n); }
SITE void *site_malloc(size_t n) { return ALLOC(malloc(n), n); }
SITE void *site_away(void) { return ALLOC(malloc(77), 77); }

int main(int argc, char **argv)
{
	truth_ready();
	for (int i = 0; i < 1000; i++) {
		site_calloc(200);
		site_reallocarray(96);
		site_malloc(48);
		if (argc > 1 && !strcmp(argv[1], "away") && i < 500)
			site_away();
	}
	return truth_done();
}
/* SPDX-License-Identifier: Apache-2.0 */
