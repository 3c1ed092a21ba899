/* SPDX-License-Identifier: Apache-2.0 */
/* libs: -lgc -lpthread */
/*
 * libgc with many threads, which take from free lists of their own: the first one before and after the others, and one that leaves
 * the collector and comes back.
 */
#define GC_THREADS
#include <gc.h>
#include <pthread.h>

#include "truth.h"

#define THREADS 24
#define ROUNDS 400

SITE void *site_first(size_t n)
{
	return ALLOC((GC_malloc)(n), n);
}
SITE void *site_first_later(size_t n)
{
	return ALLOC((GC_malloc)(n), n);
}
SITE void *site_threads(size_t n)
{
	return ALLOC((GC_malloc)(n), n);
}
SITE void *site_threads_atomic(size_t n)
{
	return ALLOC((GC_malloc_atomic)(n), n);
}
SITE void *site_back(size_t n)
{
	return ALLOC((GC_malloc)(n), n);
}

static void *work(void *none)
{
	for (int i = 0; i < ROUNDS; i++) {
		site_threads(16 + i % 300);
		site_threads_atomic(24 + i % 100);
	}
	return none;
}

static void *come_back(void *none)
{
	struct GC_stack_base base;
	site_back(48);
	GC_get_stack_base(&base);
	GC_unregister_my_thread();
	GC_register_my_thread(&base);
	for (int i = 0; i < ROUNDS; i++)
		site_back(48);
	return none;
}

int main(void)
{
	pthread_t threads[THREADS];
	GC_INIT();
	GC_allow_register_threads();
	truth_ready();
	for (int i = 0; i < 2000; i++)
		site_first(16 + i % 64);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, i ? work : come_back, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 2000; i++)
		site_first_later(16 + i % 64);
	return truth_done();
}
