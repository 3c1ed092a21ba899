/* libs: -lgc */
/*
 * A collector with its own marker threads (GC_MARKERS=4), whose stacks still contain addresses that they marked last:
 * of a wide tree, which is dropped then. A thread of the program has the name of a marker thread and holds the only
 * reference to an object. Prints "held ADDRESS", "named TID" of that thread, "markers N" as the collector says,
 * "ready"; waits until stdin ends.
 */
#define GC_THREADS
#include <gc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WIDE 64

static void **volatile tree;
static pthread_barrier_t there;

static void **grow(int depth)
{
	void **node = GC_malloc(WIDE * sizeof(*node));
	for (int i = 0; depth && i < WIDE; i++)
		node[i] = grow(depth - 1);
	return node;
}

static void *hold(void *arg)
{
	void *volatile held = GC_malloc(1000);
	(void)arg;
	pthread_setname_np(pthread_self(), "GC-marker-9");
	printf("held %p\nnamed %ld\n", held, syscall(SYS_gettid));
	pthread_barrier_wait(&there);
	for (;;)
		pause();
	return held;
}

static void __attribute__((noinline)) work(void)
{
	tree = grow(2);
	for (int i = 0; i < 5; i++)
		GC_gcollect();
	memset((void *)tree, 0, WIDE * sizeof(*tree));
	tree = NULL;
}

static void __attribute__((noinline)) wipe(void)
{
	char volatile below[64 << 10];
	memset((char *)below, 0, sizeof(below));
}

int main(void)
{
	pthread_t t;
	char c;
	GC_INIT();
	pthread_barrier_init(&there, NULL, 2);
	GC_pthread_create(&t, NULL, hold, NULL);
	pthread_barrier_wait(&there);
	work();
	wipe();
	printf("markers %d\nready\n", GC_get_parallel());
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
