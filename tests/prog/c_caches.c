/* flags: -fno-builtin */
/* libs: -lpthread */
/* Threads that exit with full thread caches: glibc passes the cached blocks through its free path a second time. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 100
#define BLOCKS 300

static void *work(void *arg)
{
	void *blocks[BLOCKS];

	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(20 + (size_t)i % 7 * 40);
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	return arg;
}

int main(void)
{
	char byte;

	if (write(1, "ready\n", 6) != 6 || read(0, &byte, 1) < 0)
		return 7;
	for (int i = 0; i < THREADS; i++) {
		pthread_t t;

		if (pthread_create(&t, NULL, work, NULL) || pthread_join(t, NULL))
			return 7;
	}
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
