/* SPDX-License-Identifier: Apache-2.0 */
/* libs: -lgc -lpthread */
/*
 * A thread leaves libgc and comes back after another has got the memory of its free lists, so that it has new ones under the same
 * thread pointer. Threads are made without libgc, and come to it themselves.
 */
#define GC_THREADS
#define GC_NO_THREAD_REDIRECTS
#include <gc.h>
#include <pthread.h>

#include "truth.h"

#define SIZE 48

static pthread_barrier_t turn;

SITE void *site_before(void)
{
	return ALLOC((GC_malloc)(SIZE), SIZE);
}
SITE void *site_back(void)
{
	return ALLOC((GC_malloc)(SIZE), SIZE);
}
SITE void *site_other(void)
{
	return ALLOC((GC_malloc)(SIZE), SIZE);
}

static void come(void)
{
	struct GC_stack_base base;
	GC_get_stack_base(&base);
	GC_register_my_thread(&base);
}

static void *come_back(void *none)
{
	come();
	for (int i = 0; i < 900; i++)
		site_before();
	GC_unregister_my_thread();
	pthread_barrier_wait(&turn);
	pthread_barrier_wait(&turn);
	come();
	for (int i = 0; i < 400; i++)
		site_back();
	pthread_barrier_wait(&turn);
	GC_unregister_my_thread();
	return none;
}

static void *come_between(void *none)
{
	pthread_barrier_wait(&turn);
	come();
	pthread_barrier_wait(&turn);
	for (int i = 0; i < 100; i++)
		site_other();
	pthread_barrier_wait(&turn);
	GC_unregister_my_thread();
	return none;
}

int main(void)
{
	pthread_t threads[2];
	GC_INIT();
	GC_allow_register_threads();
	truth_ready();
	pthread_barrier_init(&turn, NULL, 2);
	pthread_create(&threads[0], NULL, come_back, NULL);
	pthread_create(&threads[1], NULL, come_between, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return truth_done();
}
