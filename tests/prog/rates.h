/*
 * Allocation at a rate that changes: `PROG SECONDS steady|bursty|periodic|startup|tenfold|threads [TURNS]`. Before each block
 * is freed, an empty loop runs TURNS times. There are two sites, one with about a tenth of the calls
 * and bytes; each has its own size class, and requests one byte less, because libgc adds one.
 * Includers define SMALL(size), DROP(p), BEGIN() and END().
 */
#include <pthread.h>
#include <time.h>

#include "truth.h"

static double seconds;
static const char *mode;
static long turns;

static double now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

SITE void *site_tenth(void) { return ALLOC(SMALL(240 - 1), 240); }
SITE void *site_rest(void) { return ALLOC(SMALL(224 - 1), 224); }
SITE void site_drop(void *p)
{
	/*
	 * In a register: a loop through memory runs up to three times as fast or slow, by what processors predict of
	 * its loads.
	 */
	for (long i = 0; i < turns; i++)
		__asm__ volatile("" : "+r"(i));
	DROP(p);
}

/* Whether the mode allocates at `t` seconds from the start. */
static int is_on(double t)
{
	double in_half = t * 2 - (double)(long)(t * 2);
	if (!strcmp(mode, "bursty"))
		return t / 2 - (double)(long)(t / 2) < 0.25;
	if (!strcmp(mode, "periodic"))
		return in_half < 0.1;
	if (!strcmp(mode, "startup"))
		return t < seconds / 10 || in_half < 0.01;
	return 1;
}

static void rest_a_little(void)
{
	const struct timespec ms = { 0, 1000000 };
	nanosleep(&ms, NULL);
}

static void *work(void *arg)
{
	double begin = now(), t;
	(void)arg;
	while ((t = now() - begin) < seconds) {
		int calls = !strcmp(mode, "tenfold") && t < seconds / 2 ? 10 : 100;
		for (int i = 0; i < calls && is_on(t); i++)
			site_drop(i % 10 ? site_rest() : site_tenth());
		rest_a_little();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t more[4];
	int n = 0;
	seconds = argc > 1 ? atof(argv[1]) : 1;
	mode = argc > 2 ? argv[2] : "steady";
	turns = argc > 3 ? atol(argv[3]) : 0;
	BEGIN();
	truth_ready();
	for (; !strcmp(mode, "threads") && n < 4; n++)
		if (pthread_create(&more[n], NULL, work, NULL))
			return 7;
	work(NULL);
	while (n)
		pthread_join(more[--n], NULL);
	END();
	return truth_done();
}
/* SPDX-License-Identifier: Apache-2.0 */
