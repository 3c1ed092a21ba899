/* flags: -O2 -fno-omit-frame-pointer */
/* libs: -lgc */
/*
 * GC_malloc in a loop, DEPTH frames deep: `gc_loop SECONDS DEPTH`. Prints the CPU time of a call in nanoseconds, including
 * collections, and the number of calls. Waits for a byte on stdin first, so that a tracer can attach.
 */
#include <gc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double seconds;

static double now(clockid_t clock)
{
	struct timespec ts;
	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static __attribute__((noinline)) void loop(void)
{
	double begin = now(CLOCK_PROCESS_CPUTIME_ID), end = now(CLOCK_MONOTONIC) + seconds;
	unsigned long calls = 0;
	while (now(CLOCK_MONOTONIC) < end) {
		for (int i = 0; i < 1000; i++) {
			void *volatile p = GC_malloc(64);
			(void)p;
		}
		calls += 1000;
	}
	printf("%.1f %lu\n", (now(CLOCK_PROCESS_CPUTIME_ID) - begin) * 1e9 / (double)calls, calls);
	fflush(stdout);
}

static __attribute__((noinline)) void descend(int left)
{
	if (left > 0)
		descend(left - 1);
	else
		loop();
	__asm__ volatile("" ::: "memory"); /* prevents a tail call, which would remove this frame */
}

int main(int argc, char **argv)
{
	char byte;
	if (argc != 3)
		return 1;
	seconds = atof(argv[1]);
	GC_INIT();
	printf("ready\n");
	fflush(stdout);
	if (read(0, &byte, 1) < 0)
		return 1;
	descend(atoi(argv[2]));
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
