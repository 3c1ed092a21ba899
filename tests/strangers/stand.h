/*
 * Here a program waits for a debugger: called through a callback from library code, recursion, and inlined calls. Its last
 * allocation before that has STANDING bytes and is made three frames above, in a site.
 */
#ifndef ALYS_STRANGERS_STAND_H
#define ALYS_STRANGERS_STAND_H

#include <stdlib.h>
#include <unistd.h>

#define STANDING 54321
#define STAY __attribute__((noinline)) static
#define INLINED __attribute__((always_inline)) static inline

/* A macro, so that the allocation and the wait have the same frames from the caller outwards. */
#define STAND(allocate)                                                                  \
	static void *volatile stand_block;                                               \
	STAY void stand_wait(void)                                                       \
	{                                                                                \
		char go;                                                                 \
		if (write(1, "standing\n", 9) != 9 || read(0, &go, 1) != 1)               \
			_exit(7);                                                        \
	}                                                                                \
	INLINED void stand_inner(void)                                                   \
	{                                                                                \
		stand_block = allocate();                                                \
		stand_wait();                                                            \
		__asm__ volatile("" ::: "memory");                                       \
	}                                                                                \
	INLINED void stand_outer(void) { stand_inner(); }                                \
	STAY int stand_compare(const void *a, const void *b)                             \
	{                                                                                \
		if (!stand_block)                                                        \
			stand_outer();                                                   \
		return *(const int *)a - *(const int *)b;                                \
	}                                                                                \
	STAY void stand_deep(int depth)                                                  \
	{                                                                                \
		int numbers[4] = { 4, 3, 2, 1 };                                         \
		if (depth)                                                               \
			stand_deep(depth - 1);                                           \
		else                                                                     \
			qsort(numbers, 4, sizeof(*numbers), stand_compare);              \
		__asm__ volatile("" ::"r"(numbers) : "memory");                          \
	}

#endif
/* SPDX-License-Identifier: Apache-2.0 */
