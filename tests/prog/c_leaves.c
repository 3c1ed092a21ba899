/* libs: -lpthread */
/* The main thread exits; a second thread allocates. */
#include <pthread.h>

#include "truth.h"

SITE void *site_left_malloc(size_t n) { return ALLOC(malloc(n), n); }
SITE void site_left_free(void *p) { FREE(free, p); }

static void *stay(void *arg)
{
	(void)arg;
	usleep(100000); /* the main thread has exited by now */
	truth_ready();
	for (size_t i = 0; i < 500; i++) {
		void *p = site_left_malloc(24 + i);

		if (i % 2)
			site_left_free(p);
	}
	exit(truth_done());
}

int main(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, stay, NULL))
		return 7;
	pthread_exit(NULL);
}
/* SPDX-License-Identifier: Apache-2.0 */
