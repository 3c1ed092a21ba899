/* libs: -lpthread */
/* Two threads allocate, check and free blocks until stdin ends; then prints how often. */
#include <poll.h>
#include <pthread.h>

#include "truth.h"

static volatile int stop;

SITE char *site_busy_malloc(size_t n) { return (char *)malloc(n); }
SITE void site_busy_free(void *p) { free(p); NO_TAIL_CALL(); }

static void *work(void *arg)
{
	uint64_t *rounds = (uint64_t *)arg;

	for (; !stop; ++*rounds) {
		size_t n = 16 + *rounds % 3000;
		char *p = site_busy_malloc(n);

		memset(p, (char)n, n);
		if (p[0] != (char)n || p[n - 1] != (char)n)
			abort();
		site_busy_free(p);
	}
	return NULL;
}

int main(void)
{
	static uint64_t rounds[2];
	struct pollfd in = { 0, POLLIN, 0 };
	char line[64];
	pthread_t t;

	truth_ready();
	if (pthread_create(&t, NULL, work, &rounds[1]))
		return 7;
	do {
		for (int i = 0; i < 1000; i++) {
			char *p = site_busy_malloc(100);

			site_busy_free(p);
			rounds[0]++;
		}
	} while (poll(&in, 1, 1) == 0);
	stop = 1;
	pthread_join(t, NULL);
	truth_say(line, snprintf(line, sizeof(line), "rounds %llu\n", (unsigned long long)(rounds[0] + rounds[1])));
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
