/* libs: -lgc */
/*
 * The collector's own tables, one for disappearing links and one for finalizers, outgrown and replaced by larger ones.
 * The program keeps every large object that is marked after a collection, and so the old tables too; most of their
 * entries are dropped, and objects of the program take their places.
 * c_gctables [ROUNDS]
 */
#define GC_NO_THREAD_REDIRECTS
#include <gc.h>
#include <gc/gc_mark.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ROUNDS 6
#define FIRST 200
#define MOST (FIRST << ROUNDS)
#define LARGE 1024

static void *volatile kept[MOST], *volatile after[MOST], *volatile large[1024];
static void *volatile links[MOST];
static size_t large_cnt;

static void GC_CALLBACK keep_large(void *p, size_t size, void *unused)
{
	(void)unused;
	if (size >= LARGE && large_cnt < sizeof(large) / sizeof(*large))
		large[large_cnt++] = p;
}

static void *GC_CALLBACK enumerate(void *unused)
{
	GC_enumerate_reachable_objects_inner(keep_large, unused);
	return NULL;
}

static void GC_CALLBACK on_final(void *p, void *unused)
{
	(void)p;
	(void)unused;
}

static void __attribute__((noinline)) fill(int cnt)
{
	for (int i = 0; i < cnt; i++) {
		kept[i] = GC_malloc_atomic(24);
		links[i] = (void *)~(size_t)kept[i];
		GC_general_register_disappearing_link((void **)&links[i], kept[i]);
		if (i % 2)
			GC_register_finalizer(kept[i], on_final, NULL, NULL, NULL);
		if (i % 8)
			kept[i] = NULL;
	}
}

static void __attribute__((noinline)) wipe_stack(void)
{
	volatile char junk[1 << 16];
	for (size_t i = 0; i < sizeof(junk); i++)
		junk[i] = 0;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;

	GC_INIT();
	if (!getenv("ALYS_NO_WAIT")) {
		fill(FIRST);
		GC_gcollect();
		puts("ready");
		fflush(stdout);
		getchar();
	}
	for (int r = 0; r < rounds; r++) {
		fill(FIRST << r);
		wipe_stack();
		GC_gcollect();
		GC_call_with_alloc_lock(enumerate, NULL);
	}
	for (int i = 0; i < MOST; i++)
		after[i] = GC_malloc(24);
	for (int i = 0; i < 3; i++)
		GC_gcollect();
	printf("{\"pid\": %d, \"large\": %zu}\n", (int)getpid(), large_cnt);
	fflush(stdout);
	while (!getenv("ALYS_NO_WAIT") && getchar() != EOF)
		;
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
