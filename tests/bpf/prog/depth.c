/*
 * Answers lines "DEPTH CALLS" with the nanoseconds of processor time that CALLS of malloc took, DEPTH functions deep. Built
 * with frame pointers, so that the kernel's walk sees as many frames as ours.
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
	__asm__ volatile("" : "+r"(took)); /* no jump instead of the call */
	return took;
}

int main(void)
{
	int depth, calls;
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (scanf("%d %d", &depth, &calls) == 2)
		printf("%lu\n", deep(depth, calls));
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
