/*
 * Answers each line "DEPTH CALLS NEW" with the nanoseconds of CPU time that CALLS of malloc took, DEPTH functions deep.
 * NEW = 1: each call has a new stack, of other return addresses than any before. Built with frame pointers, so
 * that the kernel's walk finds as many frames as ours.
 */
/* libs: -fno-omit-frame-pointer */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static unsigned long now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (unsigned long)ts.tv_sec * 1000000000ul + (unsigned long)ts.tv_nsec;
}

static __attribute__((noinline)) unsigned long leaf(int calls)
{
	unsigned long from = now();
	for (int i = 0; i < calls; i++) {
		void *volatile p = malloc(32);
		free(p);
	}
	return now() - from;
}

static __attribute__((noinline)) unsigned long deep(int depth, int calls)
{
	unsigned long took = depth ? deep(depth - 1, calls) : leaf(calls);
	__asm__ volatile("" : "+r"(took)); /* prevents a tail call */
	return took;
}

static void deep_by(int depth, unsigned long way);

/* From a place of its own: calls that are alike would become one. */
#define WAY(n)                                              \
	case n:                                             \
		deep_by(depth - 1, way >> 4 | way << 60);   \
		__asm__ volatile(".skip 1 + " #n ", 0x90"); \
		break;

/* Each four bits of way say from where the next function is called. */
static __attribute__((noinline)) void deep_by(int depth, unsigned long way)
{
	if (!depth) {
		leaf(1);
		return;
	}
	/* clang-format off */
	switch (way & 15) {
	WAY(0) WAY(1) WAY(2) WAY(3) WAY(4) WAY(5) WAY(6) WAY(7)
	WAY(8) WAY(9) WAY(10) WAY(11) WAY(12) WAY(13) WAY(14) WAY(15)
	}
	/* clang-format on */
}

/* Each time another one of 16^depth stacks. */
static unsigned long deep_anew(int depth, int calls)
{
	static unsigned long way = 1;
	unsigned long from = now();
	for (int i = 0; i < calls; i++) {
		way = way * 6364136223846793005ul + 1442695040888963407ul;
		deep_by(depth, way ^ way >> 32);
	}
	return now() - from;
}

int main(void)
{
	int depth, calls, anew;
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (scanf("%d %d %d", &depth, &calls, &anew) == 3)
		printf("%lu\n", anew ? deep_anew(depth, calls) : deep(depth, calls));
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
