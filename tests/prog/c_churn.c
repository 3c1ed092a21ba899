/* libs: -lgc -lpthread */
/*
 * Collects all the time, with a pause of a millisecond after every 2,000 garbage objects: long enough to read the heap
 * between two collections. 3,000 objects are kept for good; garbage is made until stdin ends. Prints the kept objects as
 * c_heap.c does, all of them marked, before it starts. With a number as argument, that many more threads make garbage, and
 * every eighth garbage object has a finalizer, which keeps the objects that it points to marked.
 */
#define GC_THREADS
#include <gc.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define KEPT 3000

static void *volatile kept[KEPT];

static void finalize(void *object, void *unused)
{
	(void)unused;
	*(void **)object = NULL;
}

static void make_garbage(int finalized)
{
	for (int i = 0; i < 2000; i++) {
		void **volatile garbage = GC_malloc(16 + (size_t)i % 500);
		if (finalized && i % 8 == 0) {
			*garbage = GC_malloc(40);
			GC_register_finalizer(garbage, finalize, NULL, NULL, NULL);
		}
	}
}

static void *churn(void *unused)
{
	while (!unused)
		make_garbage(1);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	struct pollfd in = { .fd = 0, .events = POLLIN };
	GC_INIT();
	for (int i = 0; i < KEPT; i++)
		kept[i] = i & 1 ? GC_malloc(1 + (size_t)i * 7 % 900) : GC_malloc_atomic(1 + (size_t)i * 7 % 900);
	GC_gcollect();
	for (int i = 0; i < KEPT; i++)
		printf("%lx %lx %lu %d 1\n", (uintptr_t)kept[i], (uintptr_t)kept[i], GC_size(kept[i]), i & 1);
	puts("end");
	fflush(stdout);
	for (int i = argc > 1 ? atoi(argv[1]) : 0; i > 0; i--)
		GC_pthread_create(&thread, NULL, churn, NULL);
	while (poll(&in, 1, 1) < 1)
		make_garbage(argc > 1);
	printf("collections %lu\n", (unsigned long)GC_get_gc_no());
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
