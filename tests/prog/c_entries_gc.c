/* libs: -lgc */
/* Every entry point of libgc that returns one block, each from its own site and with one size. Nothing is freed explicitly. */
#define GC_NO_THREAD_REDIRECTS
#include <gc.h>
#include <gc/gc_inline.h>
#include <gc/gc_mark.h>
#include <gc/gc_typed.h>

#include "truth.h"

#define OF_SIZE(f) SITE void *site_##f(size_t n) { return ALLOC((f)(n), n); }
#define OF_KIND(f) SITE void *site_##f(size_t n) { return ALLOC((f)(n, GC_I_NORMAL), n); } \
	SITE void *site_##f##_atomic(size_t n) { return ALLOC((f)(n, GC_I_PTRFREE), n); }

OF_SIZE(GC_malloc)
OF_SIZE(GC_malloc_atomic)
OF_SIZE(GC_malloc_uncollectable)
OF_SIZE(GC_malloc_atomic_uncollectable)
OF_SIZE(GC_malloc_ignore_off_page)
OF_SIZE(GC_malloc_atomic_ignore_off_page)
OF_KIND(GC_malloc_kind)
OF_KIND(GC_malloc_kind_global)
OF_KIND(GC_generic_malloc)
OF_KIND(GC_generic_malloc_ignore_off_page)
/* Several functions called by the same call instruction, so from the same frame and return address. */
SITE void *site_turns(size_t n)
{
	static void *(*volatile const turns[])(size_t) = {
		GC_malloc, GC_malloc_uncollectable, GC_malloc_ignore_off_page, GC_malloc_atomic, GC_malloc_atomic_uncollectable,
	};
	static size_t turn;
	return ALLOC(turns[turn++ % (sizeof(turns) / sizeof(*turns))](n), n);
}
SITE void *site_turns_of_kind(size_t n)
{
	static void *(*volatile const turns[])(size_t, int) = { GC_malloc_kind, GC_malloc_kind_global, GC_generic_malloc };
	static size_t turn;
	return ALLOC(turns[turn++ % (sizeof(turns) / sizeof(*turns))](n, GC_I_NORMAL), n);
}
SITE void *site_inner(size_t n) { return ALLOC((GC_malloc)(n), n); }
SITE void *site_GC_realloc_null(size_t n) { return ALLOC((GC_realloc)(NULL, n), n); }
SITE void *site_GC_realloc_grow(size_t n)
{
	void *old = site_inner(16);
	return REALLOC((GC_realloc)(old, n), old, n);
}
SITE void *site_GC_memalign_small(size_t n) { return ALLOC(GC_memalign(8, n), n); }
SITE void *site_GC_memalign_large(size_t n) { return ALLOC(GC_memalign(256, n), n); }
SITE void *site_GC_posix_memalign(size_t n) { void *p; return ALLOC(GC_posix_memalign(&p, 64, n) ? NULL : p, n); }
SITE void *site_GC_typed(size_t n)
{
	GC_word map[1] = { 1 };
	return ALLOC(GC_malloc_explicitly_typed(n, GC_make_descriptor(map, 1)), n);
}
SITE void *site_GC_typed_calloc(size_t n) { return ALLOC(GC_calloc_explicitly_typed(n / 8, 8, GC_DS_LENGTH), n); }
SITE void *site_GC_strdup(size_t n)
{
	char text[4096];
	memset(text, 'x', n - 1);
	text[n - 1] = '\0';
	return ALLOC(GC_strdup(text), n);
}
SITE void *site_GC_strndup(size_t n)
{
	char text[4096];
	memset(text, 'x', sizeof(text));
	return ALLOC(GC_strndup(text, n - 1), n);
}

int main(int argc, char **argv)
{
	static void *(*const sites[])(size_t) = {
		site_GC_malloc, site_GC_malloc_atomic, site_GC_malloc_uncollectable, site_GC_malloc_atomic_uncollectable,
		site_GC_malloc_ignore_off_page, site_GC_malloc_atomic_ignore_off_page,
		site_GC_malloc_kind, site_GC_malloc_kind_atomic, site_GC_malloc_kind_global, site_GC_malloc_kind_global_atomic,
		site_GC_generic_malloc, site_GC_generic_malloc_atomic, site_GC_generic_malloc_ignore_off_page,
		site_GC_generic_malloc_ignore_off_page_atomic, site_GC_realloc_null, site_GC_realloc_grow, site_GC_memalign_small,
		site_GC_memalign_large, site_GC_posix_memalign, site_GC_typed, site_GC_typed_calloc, site_GC_strdup, site_GC_strndup,
		site_turns, site_turns_of_kind,
	};
	int calls = argc > 1 ? atoi(argv[1]) : 2000;
	GC_INIT();
	truth_ready();
	for (size_t i = 0; i < sizeof(sites) / sizeof(*sites); i++)
		for (int k = 0; k < calls; k++)
			sites[i](192);
	return truth_done();
}
/* SPDX-License-Identifier: Apache-2.0 */
