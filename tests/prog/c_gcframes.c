/* SPDX-License-Identifier: Apache-2.0 */
/* libs: -lgc */
/*
 * Calls of malloc and of GC_malloc from a function whose frame is known by rbp only: it has room of a size that it is told. A probe in
 * the middle of an allocator, which uses rbp itself, finds it all the same. Until a line is read; `ready` first.
 */
#include <gc.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TURNS 2000

__attribute__((noinline)) static void site_by_rbp(size_t room)
{
	char *place = __builtin_alloca(room);
	void *volatile p = malloc(64), *volatile c = GC_malloc(64);
	memset(place, 0, room);
	__asm__ volatile("" ::"r"(place), "r"(c) : "memory");
	free(p);
}

__attribute__((noinline)) static void of_room(size_t room)
{
	site_by_rbp(room);
	__asm__ volatile("" ::: "memory");
}

int main(void)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };
	GC_init();
	puts("ready");
	fflush(stdout);
	while (poll(&in, 1, 1) <= 0)
		for (size_t i = 0; i < TURNS; i++)
			of_room(16 + i % 64);
	return 0;
}
