/* libs: -lgc */
/* libgc: its common entry points, with enough garbage for many collections. */
#include <gc.h>

#include "truth.h"

#define ROUNDS 8000
#define KEPT 500

/* At file scope: a root of the collector. */
static void *volatile kept[KEPT];

SITE void *site_gc_malloc(size_t n) { return ALLOC((GC_malloc)(n), n); }
SITE void *site_gc_kept(size_t n) { return ALLOC((GC_malloc)(n), n); }
SITE void *site_gc_malloc_atomic(size_t n) { return ALLOC((GC_malloc_atomic)(n), n); }
SITE void *site_gc_large(size_t n) { return ALLOC((GC_malloc)(n), n); }
SITE void *site_gc_uncollectable(size_t n) { return ALLOC((GC_malloc_uncollectable)(n), n); }
SITE void *site_gc_memalign(size_t n) { return ALLOC((GC_memalign)(64, n), n); }
SITE void *site_gc_ignore_off_page(size_t n) { return ALLOC((GC_malloc_ignore_off_page)(n), n); }
SITE void *site_gc_atomic_ignore_off_page(size_t n) { return ALLOC((GC_malloc_atomic_ignore_off_page)(n), n); }
SITE void *site_gc_realloc(void *p, size_t n) { return REALLOC((GC_realloc)(p, n), p, n); }
SITE void *site_gc_realloc_new(size_t n) { return REALLOC((GC_realloc)(NULL, n), NULL, n); }
SITE void site_gc_free(void *p) { FREE((GC_free), p); }

static void round_of(int i)
{
	void *p = site_gc_realloc_new(30);

	site_gc_malloc(16 + i % 300);
	site_gc_malloc_atomic(24 + i % 100);
	p = site_gc_realloc(p, 200 + i % 1000);
	p = site_gc_realloc(p, 5000);
	if (i % 2)
		site_gc_free(p);
	if (i % 10)
		return;
	site_gc_large(20000 + i % 7);
	site_gc_free(site_gc_uncollectable(64));
	site_gc_memalign(500);
	site_gc_ignore_off_page(100000);
	site_gc_atomic_ignore_off_page(120000);
}

int main(void)
{
	GC_INIT();
	truth_ready();
	for (int i = 0; i < ROUNDS; i++) {
		if (i % (ROUNDS / KEPT) == 0)
			kept[i / (ROUNDS / KEPT)] = site_gc_kept(40);
		round_of(i);
	}
	if (GC_get_gc_no() < 3)
		return 7; /* no collections: the test would prove nothing */
	return truth_done();
}
/* SPDX-License-Identifier: Apache-2.0 */
