/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -pthread */
/* libs: -lpthread */
/*
 * Blocks of known sizes and C++ classes in several arenas, some of them freed so that thread caches, fastbins and bins are not
 * empty. Prints malloc's own statistics, and does each further step when told to.
 *
 *   c_malloc [SEED] [THREADS]: prints a line of JSON | 'n': frees and allocates, prints the next | 't': trims, prints the next
 *   | 'b': corrupts its heap | 'i': malloc_info to stderr | 'c': allocates and frees until its input ends
 */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct Shape {
	virtual ~Shape() {}
	long a = 1;
};

namespace shapes {
struct Circle : Shape {
	long more[5] = {};
};
template <typename T> struct Box : Shape {
	T value[3] = {};
};
}

#define KEPT 60000
#define SIZES 1033 /* from here on a row stands for several */

static void *kept[KEPT];
static size_t kept_cnt, kept_blocks; /* kept_blocks: those that are not C++ objects */
static unsigned long by_usable[SIZES]; /* blocks in use, by usable size */
static unsigned long larger, mapped, bytes; /* bytes: of both */
static unsigned seed = 1;
static pthread_barrier_t barrier;

static unsigned some(unsigned most)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % most;
}

static void keep(void *p)
{
	kept[kept_cnt++] = p;
}

static void count(void *p, int by)
{
	size_t n = malloc_usable_size(p);
	bytes += n < SIZES ? 0 : n * by;
	if (n < SIZES)
		by_usable[n] += by;
	else if (((size_t *)p)[-1] & 2)
		mapped += by;
	else
		larger += by;
}

static void *in_thread(void *ctx)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	(void)ctx;
	pthread_barrier_wait(&barrier); /* each thread has its own arena before any of them exits */
	for (int i = 0; i < 500; i++) {
		void *p = malloc(40 + i % 3 * 100);
		pthread_mutex_lock(&lock);
		keep(p);
		pthread_mutex_unlock(&lock);
	}
	for (int i = 0; i < 30; i++)
		free(malloc(24 + i % 5 * 64));
	pthread_barrier_wait(&barrier);
	pause();
	return NULL;
}

static void fill()
{
	for (int i = 0; i < 20000; i++)
		keep(malloc(1 + some(i % 4 ? 200 : 1030)));
	for (int i = 0; i < 200; i++)
		keep(malloc(1100 + some(60000)));
	for (int i = 0; i < 12; i++)
		keep(i % 3 ? malloc(140000 + some(400000)) : memalign(64 << i, 300000));
	keep(realloc(memalign(4096, 200000), 900000)); /* behind the header of before, where it may have moved to */
	for (size_t i = 0; i < kept_cnt; i++) { /* fills the thread cache first, then fastbins and bins */
		if (some(3))
			continue;
		free(kept[i]);
		kept[i] = NULL;
	}
	for (int i = 0; i < 3000; i++)
		keep(malloc(1 + some(500)));
}

static void change()
{
	for (int i = 0; i < 1500; i++) {
		size_t k = some(kept_blocks);
		if (kept[k]) {
			count(kept[k], -1);
			free(kept[k]);
			kept[k] = NULL;
		} else {
			kept[k] = malloc(1 + some(i % 50 ? 1020 : 90000));
			count(kept[k], 1);
		}
	}
}

static void say(bool trimmed)
{
	struct mallinfo2 m = mallinfo2();
	static char line[1 << 16];
	int n = snprintf(line, sizeof(line),
			 "{\"arena\":%zu,\"used\":%zu,\"free\":%zu,\"fastbins\":%zu,\"top\":%zu,\"mmapped\":%zu,\"mmapped_cnt\":%zu,"
			 "\"trimmed\":%d,\"larger\":%lu,\"mapped\":%lu,\"bytes\":%lu,\"sizes\":{",
			 m.arena, m.uordblks, m.fordblks, m.fsmblks, m.keepcost, m.hblkhd, m.hblks, trimmed, larger, mapped, bytes);
	bool any = false;
	for (int i = 0; i < SIZES; i++) {
		if (by_usable[i])
			n += snprintf(line + n, sizeof(line) - n, "%s\"%d\":%lu", any ? "," : "", i, by_usable[i]), any = true;
	}
	n += snprintf(line + n, sizeof(line) - n, "}}\n");
	if (write(1, line, n) != n)
		_exit(9);
}

static void churn()
{
	void *some_of[64] = {};
	for (;;) {
		unsigned i = some(64);
		free(some_of[i]);
		some_of[i] = malloc(1 + some(3000));
	}
}

static void *await_end(void *ctx)
{
	char byte;
	(void)ctx;
	while (read(0, &byte, 1) > 0)
		;
	_exit(0);
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 3;
	pthread_t t;
	char byte;
	seed = argc > 1 ? atoi(argv[1]) : 1;
	pthread_barrier_init(&barrier, NULL, threads + 1);
	for (int i = 0; i < threads; i++)
		pthread_create(&t, NULL, in_thread, NULL);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	fill();
	for (size_t i = 0; i < kept_cnt; i++) {
		if (kept[i])
			count(kept[i], 1);
	}
	kept_blocks = kept_cnt;
	for (int i = 0; i < 700; i++)
		keep(new shapes::Circle);
	for (int i = 0; i < 300; i++)
		keep(new shapes::Box<int>);
	for (int i = 0; i < 5; i++)
		keep(new Shape);
	void *broken = malloc(100);
	count(broken, 1);
	volatile size_t *head_of_broken = (size_t *)((uintptr_t)broken - 8);
	say(false);
	while (read(0, &byte, 1) == 1) {
		if (byte == 'n')
			change();
		if (byte == 't')
			malloc_trim(0);
		if (byte == 'i')
			malloc_info(0, stderr);
		if (byte == 'b')
			*head_of_broken = 0x123456789abc1;
		if (byte == 'c') {
			pthread_create(&t, NULL, await_end, NULL);
			churn();
		}
		say(byte == 't');
	}
	return 0;
}
