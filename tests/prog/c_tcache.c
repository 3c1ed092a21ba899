/* flags: -fno-builtin */
/* libs: -lpthread */
/*
 * Threads and a forked child call glibc's allocator in random order and sizes, served from the thread cache or not.
 * `c_tcache late|early`: instead, the main thread itself sets the cache's counts to zero, so that malloc no longer
 * returns the cached blocks: after (late) or before (early) enough calls for the counts to be trusted. `c_tcache
 * resize`: the main thread calls realloc for one block, which fits all but one of 64 times. Prints its truth.
 */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>

#include "truth.h"

#define THREADS 4
#define ROUNDS 3000
#define KEPT 64
#define LATE 5000
#define COUNTS (64 * sizeof(uint16_t)) /* at the beginning of tcache_perthread_struct, the heap's first block */
#define CACHE_HEAD 0x291               /* of its chunk */

struct turns {
	void *kept[KEPT];
	uint32_t random;
};

SITE void *site_malloc(size_t n)
{
	return ALLOC(malloc(n), n);
}
SITE void *site_calloc(size_t n)
{
	return ALLOC(calloc(n / 8, 8), n / 8 * 8);
}
SITE void *site_aligned(size_t n)
{
	return ALLOC(aligned_alloc(64, n), n);
}
SITE void *site_realloc(void *p, size_t n)
{
	return REALLOC(realloc(p, n), p, n);
}
SITE void site_overflow(size_t n)
{
	ALLOC(calloc(n << 60, 16), 0);
}
SITE void site_free(void *p)
{
	FREE(free, p);
}

static uint32_t draw(struct turns *t, uint32_t below)
{
	t->random = t->random * 1664525 + 1013904223;
	return (t->random >> 8) % below;
}

static void turn(struct turns *t)
{
	void **at = &t->kept[draw(t, KEPT)];
	size_t size = draw(t, 8) ? draw(t, 1100) : draw(t, 200000);

	switch (draw(t, 8)) {
	case 0: *at = site_realloc(*at, size + 1); return;
	case 1:
		site_free(*at);
		*at = site_calloc(size + 8);
		return;
	case 2:
		site_free(*at);
		*at = site_aligned(size / 64 * 64 + 64);
		return;
	case 3: site_overflow(size % 7 + 1); return;
	default:
		site_free(*at);
		*at = site_malloc(size);
		return;
	}
}

static void *work(void *arg)
{
	struct turns t = { .random = (uint32_t)(size_t)arg };

	for (int i = 0; i < ROUNDS; i++)
		turn(&t);
	return NULL;
}

static void threads(void)
{
	pthread_t ids[THREADS];

	for (size_t i = 0; i < THREADS; i++)
		if (pthread_create(&ids[i], NULL, work, (void *)i))
			_exit(7);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
}

static void child(void)
{
	truth_forget();
	work((void *)77);
	truth_print();
	_exit(0);
}

static void pairs(int n)
{
	for (int i = 0; i < n; i++)
		site_free(site_malloc(40));
}

/* The main thread's cache is the first block of the heap, and has a size of its own. */
static char *first_chunk(void)
{
	uint64_t *at = site_malloc(40);

	while (at[-1] != CACHE_HEAD)
		at -= 2;
	return (char *)at;
}

static int deceive(const char *when)
{
	char *cache = first_chunk();

	pairs(strcmp(when, "late") ? 10 : LATE);
	for (int i = 0; i < 300; i++) {
		void *p = site_malloc(40);

		site_free(p);
		memset(cache, 0, COUNTS);
	}
	return truth_done();
}

static int resize(void)
{
	void *p = site_malloc(2000);

	for (int i = 0; i < LATE; i++) {
		p = site_realloc(p, i % 64 ? 1000 + (size_t)i % 100 : 5000);
		if (i % 64 == 63)
			p = site_realloc(p, 800);
	}
	return truth_done();
}

int main(int argc, char **argv)
{
	pid_t pid;

	truth_ready();
	if (argc > 1 && !strcmp(argv[1], "resize"))
		return resize();
	if (argc > 1)
		return deceive(argv[1]);
	work((void *)99);
	pid = fork();
	if (pid == 0)
		child();
	threads();
	if (waitpid(pid, NULL, 0) != pid)
		return 7;
	return truth_done();
}
/* SPDX-License-Identifier: Apache-2.0 */
