/* libs: -lpthread */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of two threads, in part older than a recording: both fill their slots, the program prints "ready", and from then on
 * they replace blocks all the time, by free and malloc or by realloc. After a byte on its input they end, and the
 * program prints how many blocks are live, and waits for the end of its input. c_older [still]: replaces nothing.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define THREADS 2
#define SLOTS 20000
#define AT_ONCE 50

static void *slots[THREADS][SLOTS];
static atomic_int filled, over;
static int still;

static uint64_t next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static void replace(void **slot, uint64_t *x)
{
	size_t size = 1 + next(x) % 700;
	if (next(x) % 4) {
		free(*slot);
		*slot = next(x) % 8 ? malloc(size) : NULL;
	} else {
		*slot = realloc(*slot, size);
	}
}

static void *work(void *arg)
{
	const struct timespec pause = { .tv_nsec = 50000 };
	int self = (int)(intptr_t)arg;
	uint64_t x = 88172645463325252ull + (uint64_t)self;
	for (int i = 0; i < SLOTS; i++)
		slots[self][i] = malloc(1 + next(&x) % 700);
	atomic_fetch_add(&filled, 1);
	while (!atomic_load(&over)) {
		for (int i = 0; i < AT_ONCE && !still; i++)
			replace(&slots[self][next(&x) % SLOTS], &x);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int live = 0;
	(void)argv;
	still = argc > 1;
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i);
	while (atomic_load(&filled) < THREADS)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	puts("ready");
	if (getchar() == EOF)
		return 1;
	atomic_store(&over, 1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS; i++) {
		for (int k = 0; k < SLOTS; k++)
			live += slots[i][k] != NULL;
	}
	printf("{\"live\": %d}\n", live);
	return getchar() == 'x';
}
