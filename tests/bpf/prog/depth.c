/*
 * Answers each line "DEPTH CALLS NEW" with the nanoseconds of CPU time that CALLS of malloc took, DEPTH functions deep.
 * NEW = 1: each call has a new stack, with other return addresses than the previous one. Built with frame pointers, so
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

static __attribute__((noinline)) void deep_by(int depth, int way)
{
	if (!depth)
		leaf(1);
	else if (way)
		deep_by(depth - 1, way);
	else
		deep_by(depth - 1, 0);
	__asm__ volatile("" : : "r"(way)); /* prevents a tail call */
}

static unsigned long deep_anew(int depth, int calls)
{
	unsigned long from = now();
	for (int i = 0; i < calls; i++)
		deep_by(depth, i & 1);
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
