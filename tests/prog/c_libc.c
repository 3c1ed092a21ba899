/* flags: -fno-builtin -Wno-unused-result */
/* Every entry point of the C library's allocator, with failures and edge cases. */
#include <errno.h>
#include <malloc.h>

#include "truth.h"

#define ROUNDS 500

/* Not a constant, because the compiler would reject a request that cannot succeed. */
static volatile size_t huge = SIZE_MAX / 4;

SITE void *site_malloc(size_t n) { return ALLOC(malloc(n), n); }
SITE void *site_malloc_kept(size_t n) { return ALLOC(malloc(n), n); }
SITE void *site_malloc_huge(void) { return ALLOC(malloc(huge), huge); }
SITE void *site_malloc_zero(void) { return ALLOC(malloc(0), 0); }
SITE void *site_calloc(size_t k, size_t n) { return ALLOC(calloc(k, n), k * n); }
SITE void *site_calloc_overflow(void) { return ALLOC(calloc(huge, 16), huge); }
SITE void *site_calloc_mapped(void) { return ALLOC(calloc(1, 1 << 20), 1 << 20); }
SITE void *site_realloc_new(size_t n) { return REALLOC(realloc(NULL, n), NULL, n); }
SITE void *site_realloc_grow(void *p, size_t n) { return REALLOC(realloc(p, n), p, n); }
SITE void *site_realloc_shrink(void *p, size_t n) { return REALLOC(realloc(p, n), p, n); }
SITE void *site_realloc_free(void *p) { return REALLOC(realloc(p, 0), p, 0); }
SITE void *site_realloc_fail(void *p) { return REALLOC(realloc(p, huge), p, huge); }
SITE void *site_reallocarray(void *p, size_t k, size_t n) { return REALLOC(reallocarray(p, k, n), p, k * n); }
SITE void *site_reallocarray_fail(void *p) { return REALLOC(reallocarray(p, huge, 16), p, huge); }
SITE void *site_memalign(size_t n) { return ALLOC(memalign(256, n), n); }
SITE void *site_aligned_alloc(size_t n) { return ALLOC(aligned_alloc(64, n), n); }
SITE void *site_valloc(size_t n) { return ALLOC(valloc(n), n); }
SITE void *site_pvalloc(size_t n) { return ALLOC(pvalloc(n), n); }
SITE void *site_strdup(const char *s) { return ALLOC(strdup(s), strlen(s) + 1); }
SITE void site_free(void *p) { FREE(free, p); }
SITE void site_free_null(void) { FREE(free, NULL); }
SITE void site_free_kept(void *p) { FREE(free, p); }

SITE void *site_posix_memalign(size_t n)
{
	void *p = NULL;

	if (posix_memalign(&p, 128, n))
		p = NULL;
	return ALLOC(p, n);
}

SITE void *site_posix_memalign_fail(void)
{
	void *p = NULL;

	/* Both ways to fail: an invalid alignment, and a size that cannot be met. */
	if (posix_memalign(&p, 3, 64))
		p = NULL;
	ALLOC(p, 64);
	if (posix_memalign(&p, 64, huge))
		p = NULL;
	return ALLOC(p, huge);
}

static void reallocs(int i)
{
	void *p = site_realloc_new(24 + i);

	p = site_realloc_grow(p, 4000 + i);
	p = site_realloc_fail(p) ? NULL : p;
	p = site_realloc_grow(p, 200000 + i); /* beyond the mmap threshold, so the block moves */
	p = site_realloc_shrink(p, 10 + i);
	p = site_reallocarray(p, 3, 7 + i);
	p = site_reallocarray_fail(p) ? NULL : p;
	if (i % 2)
		site_realloc_free(p);
	else
		site_free(p);
}

static void round_of(int i)
{
	site_free(site_malloc(16 + i));
	site_free(site_malloc(16 + i)); /* reuses the address */
	site_free(site_malloc_zero());
	site_free(site_calloc(3, 100));
	site_free(site_calloc_mapped());
	site_free(site_memalign(1000));
	site_free(site_aligned_alloc(640));
	site_free(site_valloc(50));
	site_free(site_pvalloc(5000));
	site_free(site_posix_memalign(777));
	site_free(site_strdup("a string of thirty-two letters.."));
	site_free_null();
	site_malloc_huge();
	site_calloc_overflow();
	site_posix_memalign_fail();
	reallocs(i);
}

int main(void)
{
	void *kept[ROUNDS];

	truth_ready();
	for (int i = 0; i < ROUNDS; i++) {
		kept[i] = site_malloc_kept(32 + i % 5);
		round_of(i);
	}
	for (int i = 0; i < ROUNDS; i += 3)
		site_free_kept(kept[i]);
	return truth_done();
}
/* SPDX-License-Identifier: Apache-2.0 */
