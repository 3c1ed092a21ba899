/* libs: -lpthread */
/* Eight threads, half of them started while the others work; some blocks are freed by another thread. */
#include <pthread.h>

#include "truth.h"

#define THREADS 8
#define ROUNDS 4000

static void *box[THREADS];

SITE void *site_thread_malloc(size_t n) { return ALLOC(malloc(n), n); }
SITE void *site_thread_kept(size_t n) { return ALLOC(malloc(n), n); }
SITE void *site_thread_realloc(void *p, size_t n) { return REALLOC(realloc(p, n), p, n); }
SITE void site_thread_free(void *p) { FREE(free, p); }

static void *work(void *arg)
{
	size_t me = (size_t)arg;

	for (size_t i = 0; i < ROUNDS; i++) {
		void *p = site_thread_malloc(16 + me * 8);
		void *theirs;

		p = site_thread_realloc(p, 100 + i % 900);
		theirs = __atomic_exchange_n(&box[(me + i) % THREADS], p, __ATOMIC_ACQ_REL);
		if (theirs)
			site_thread_free(theirs);
		if (i % 100 == 0)
			site_thread_kept(32);
	}
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];
	size_t half = THREADS / 2;

	for (size_t i = 0; i < half; i++) {
		if (i == 0)
			truth_ready();
		if (pthread_create(&t[i], NULL, work, (void *)i))
			return 7;
	}
	for (size_t i = half; i < THREADS; i++) {
		usleep(2000);
		if (pthread_create(&t[i], NULL, work, (void *)i))
			return 7;
	}
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	return truth_done();
}
/* SPDX-License-Identifier: Apache-2.0 */
