/* libs: -lgc */
/*
 * A heap whose every edge is known, for tests of the object graph: `c_graph [OBJECTS] [busy]`. Prints
 * "NAME ADDRESS" lines, then "ready"; then "alive" for each line on stdin, "end" when stdin ends. With "busy" a thread
 * spins; the answer to a line "gap" is the longest time in microseconds that it did not run since the last answer.
 *
 *   top (global) -> table -> leaf[0], leaf[1] (by an interior pointer), ring -> ring2 -> ring
 *   hidden (uncollectable) -> kept;  lost: no references to it;  plain (pointer-free) contains kept's address, but is not scanned
 *   root_chain -> OBJECTS objects of 32 and 64 bytes, each holding the next and the one after it, down to chain0
 */
#define GC_THREADS
#include <gc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct table {
	void *pad;
	void *leaf[2];
	void *ring;
};

struct ring {
	void *pad[2];
	struct ring *other;
};

static struct table *top;
static void **volatile root_chain;
static volatile unsigned long gap_us; /* the longest time in which spin() did not run */

static void say(const char *name, void *p)
{
	printf("%s %p\n", name, p);
}

/* Not inlined, so that its stack frame can be overwritten after it has returned. */
static void __attribute__((noinline)) make(void)
{
	top = GC_malloc(sizeof(*top));
	top->leaf[0] = GC_malloc(100);
	top->leaf[1] = (char *)GC_malloc(200) + 50;
	struct ring *a = GC_malloc(sizeof(*a)), *b = GC_malloc(sizeof(*b));
	a->other = b;
	b->other = a;
	top->ring = a;
	void **hidden = GC_malloc_uncollectable(48);
	hidden[3] = GC_malloc_atomic(64);
	void **plain = GC_malloc_atomic(80);
	plain[0] = top->leaf[0];
	top->pad = plain;
	say("top", top);
	say("leaf0", top->leaf[0]);
	say("leaf1", (char *)top->leaf[1] - 50);
	say("ring", a);
	say("ring2", b);
	say("hidden", hidden);
	say("kept", hidden[3]);
	say("plain", plain);
	say("lost", GC_malloc(500));
}

static void __attribute__((noinline)) chain(long n)
{
	void **last = NULL, **before = NULL;
	for (long i = 0; i < n; i++) {
		void **at = GC_malloc(i & 1 ? 24 : 60);
		at[0] = last;
		at[2] = before;
		if (!last)
			say("chain0", at);
		before = last;
		last = at;
	}
	root_chain = last;
}

/* Overwrites stale addresses on the stack and in registers with zeros. */
static void __attribute__((noinline)) wipe(void)
{
	char room[16384];
	memset(room, 0, sizeof(room));
	/* Otherwise the compiler would drop the stores, as nothing reads them. */
	__asm__ volatile("" : : "r"(room) : "memory");
}

static unsigned long now_us(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (unsigned long)ts.tv_sec * 1000000 + (unsigned long)ts.tv_nsec / 1000;
}

static void *spin(void *arg)
{
	for (unsigned long now, last = now_us();; last = now) {
		now = now_us();
		if (now - last > gap_us)
			gap_us = now - last;
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char line[64];
	GC_INIT();
	GC_set_all_interior_pointers(1);
	make();
	chain(argc > 1 ? atol(argv[1]) : 0);
	wipe();
	if (argc > 2)
		GC_pthread_create(&thread, NULL, spin, NULL);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "gap\n")) {
			printf("%lu\n", gap_us);
			gap_us = 0;
		} else {
			puts("alive");
		}
		fflush(stdout);
	}
	puts("end");
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
