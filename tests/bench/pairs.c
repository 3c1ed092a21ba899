/* flags: -O2 -fno-omit-frame-pointer */
/*
 * malloc + free in a loop, DEPTH frames deep: `pairs SECONDS DEPTH [THREADS]`. Prints the CPU time of a pair in nanoseconds and
 * the number of pairs. Waits for a byte on stdin first, so that a tracer can attach.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double seconds;
static int depth;

static double now(clockid_t clock)
{
	struct timespec ts;
	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

struct result {
	double ns;
	unsigned long pairs;
};

static __attribute__((noinline)) void loop(struct result *r)
{
	double begin = now(CLOCK_THREAD_CPUTIME_ID), end = now(CLOCK_MONOTONIC) + seconds;
	while (now(CLOCK_MONOTONIC) < end) {
		for (int i = 0; i < 1000; i++) {
			void *volatile p = malloc(64);
			free(p);
		}
		r->pairs += 1000;
	}
	r->ns = (now(CLOCK_THREAD_CPUTIME_ID) - begin) * 1e9 / (double)r->pairs;
}

static __attribute__((noinline)) void descend(int left, struct result *r)
{
	if (left > 0)
		descend(left - 1, r);
	else
		loop(r);
	__asm__ volatile("" ::: "memory"); /* prevents a tail call, which would remove this frame */
}

static void *thread(void *arg)
{
	descend(depth, arg);
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 3 ? atoi(argv[3]) : 1;
	struct result results[16] = { 0 };
	pthread_t ids[16];
	char byte;
	seconds = atof(argv[1]);
	depth = atoi(argv[2]);
	printf("ready\n");
	fflush(stdout);
	if (read(0, &byte, 1) < 0 || threads > 16)
		return 1;
	for (int i = 0; i < threads; i++)
		pthread_create(&ids[i], NULL, thread, &results[i]);
	double ns = 0;
	unsigned long pairs = 0;
	for (int i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
		ns += results[i].ns / threads;
		pairs += results[i].pairs;
	}
	printf("%.1f %lu\n", ns, pairs);
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
