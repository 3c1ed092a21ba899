/* libs: -lgc */
/*
 * libgc's less common entry points: blocks of a kind, typed blocks, GCJ's, whole lists, and free lists from which the
 * program itself takes blocks, as compilers and interpreters do. All are kept.
 * c_gcentries [COLLECTIONS]
 */
#define GC_NO_THREAD_REDIRECTS
#include <gc.h>
#include <gc/gc_gcj.h>
#include <gc/gc_inline.h>
#include <gc/gc_mark.h>
#include <gc/gc_typed.h>

#include <time.h>

#include "truth.h"

#define ROUNDS 100
#define MANY (1 << 20)

/* An array in an uncollectable block, which is a root. */
static void **kept;
static size_t kept_cnt;
static GC_descr descr;
static struct { size_t words[2]; } table = { { 0, 0 } }; /* of a GCJ class: its descriptor is the second word */

static void *keep(void *p)
{
	if (!p || kept_cnt == MANY)
		abort();
	return kept[kept_cnt++] = p;
}

SITE void *site_generic(size_t n) { return keep(ALLOC((GC_generic_malloc)(n, GC_I_NORMAL), n)); }
SITE void *site_kind_global(size_t n) { return keep(ALLOC((GC_malloc_kind_global)(n, GC_I_NORMAL), n)); }
SITE void *site_special(size_t n) { return keep(ALLOC((GC_generic_or_special_malloc)(n, GC_I_PTRFREE), n)); }
SITE void *site_off_page(size_t n) { return keep(ALLOC((GC_generic_malloc_ignore_off_page)(n, GC_I_NORMAL), n)); }
SITE void *site_typed(size_t n) { return keep(ALLOC((GC_malloc_explicitly_typed)(n, descr), n)); }
SITE void *site_gcj(size_t n) { return keep(ALLOC((GC_gcj_malloc)(n, &table), n)); }
SITE void *site_gcj_off_page(size_t n) { return keep(ALLOC((GC_gcj_malloc_ignore_off_page)(n, &table), n)); }
/* The recording sees the underlying block, with the debug header before the object and the end marker behind it. */
SITE void *site_debug(size_t n)
{
	char *p = GC_debug_malloc(n, GC_EXTRAS), *base = GC_base(p);

	return keep(truth_alloc(__func__, base, (size_t)(p - base) + n + sizeof(GC_word) - 1));
}

SITE void *site_strdup(const char *s) { return keep(ALLOC(GC_strdup(s), strlen(s) + 1)); }

/* All blocks of a list count as allocated when the list is returned. */
static void *counted(const char *name, void *list, size_t n)
{
	for (void *p = list; p; p = GC_NEXT(p))
		keep(truth_alloc(name, p, n));
	return list;
}

/* Takes the first block of a list and overwrites it, so that it no longer looks like an element of a free list. */
static void *pop(void **list, size_t n)
{
	void *p = *list;

	*list = GC_NEXT(p);
	return memset(p, 0x11, n);
}

SITE void site_many(size_t n)
{
	void *list = counted(__func__, GC_malloc_many(n), (n + 16) / 16 * 16);

	while (list)
		pop(&list, n);
}

/* As Guile allocates pairs: from its own free list, refilled when empty. */
SITE void site_inlined(int cnt)
{
	static void *list;

	for (int i = 0; i < cnt; i++) {
		if (!list) {
			GC_generic_malloc_many(32, GC_I_NORMAL, &list);
			counted(__func__, list, 32);
		}
		pop(&list, 32);
	}
}

/* The inlined allocation of gc_inline.h. */
SITE void site_macro(int cnt)
{
	static void *lists[GC_TINY_FREELISTS];
	void *last = NULL;

	for (int i = 0; i < cnt; i++) {
		void *p, *was = lists[3];

		GC_FAST_MALLOC_GRANS(p, 3, lists, 0, GC_I_PTRFREE, (abort(), p), (void)0);
		if (was == NULL || (uintptr_t)was < 300) {
			keep(truth_alloc(__func__, p, 48));
			counted(__func__, lists[3], 48);
		}
		last = memset(p, 0x11, 48);
	}
	(void)last;
}

static void round_of(int i)
{
	site_generic(16 + i % 100);
	site_kind_global(24 + i % 3000);
	site_special(40);
	if (i % 20 == 0)
		site_off_page(200000);
	site_typed(56);
	site_gcj(72);
	if (i % 20 == 1)
		site_gcj_off_page(120000);
	site_debug(30);
	site_strdup("some words to copy");
	if (i % 10 == 0)
		site_many(80);
	site_inlined(300);
	site_macro(200);
}

int main(int argc, char **argv)
{
	GC_word bits = 1;

	GC_INIT();
	GC_init_gcj_malloc(0, NULL);
	descr = GC_make_descriptor(&bits, 2);
	table.words[1] = 72;
	kept = GC_malloc_uncollectable(MANY * sizeof(*kept));
	/* Makes the collector allocate its own tables before probes are attached. */
	(GC_malloc)(1);
	truth_ready();
	for (int i = 0; i < ROUNDS; i++)
		round_of(i);
	/* Pauses in which nothing happens, so that marks can be read. */
	for (int i = argc > 1 ? atoi(argv[1]) : 1; i > 0; i--) {
		GC_gcollect();
		nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	}
	return truth_done();
}
/* SPDX-License-Identifier: Apache-2.0 */
