/* cc: musl-gcc */
/* flags: -fno-builtin */
/* The entry points of musl's allocator. */
#include <malloc.h>

#include "truth.h"

#define ROUNDS 500

static volatile size_t huge = SIZE_MAX / 4;

SITE void *site_malloc(size_t n) { return ALLOC(malloc(n), n); }
SITE void *site_malloc_kept(size_t n) { return ALLOC(malloc(n), n); }
SITE void *site_calloc(size_t k, size_t n) { return ALLOC(calloc(k, n), k * n); }
SITE void *site_calloc_overflow(void) { return ALLOC(calloc(huge, 16), 0); }
SITE void *site_realloc(void *p, size_t n) { return REALLOC(realloc(p, n), p, n); }
SITE void *site_aligned_alloc(size_t n) { return ALLOC(aligned_alloc(64, n), n); }
SITE void *site_memalign(size_t n) { return ALLOC(memalign(256, n), n); }
SITE void site_free(void *p) { FREE(free, p); }

SITE void *site_posix_memalign(size_t n)
{
	void *p = NULL;

	if (posix_memalign(&p, 128, n))
		p = NULL;
	return ALLOC(p, n);
}

int main(void)
{
	truth_ready();
	for (int i = 0; i < ROUNDS; i++) {
		void *p = site_realloc(NULL, 40);

		site_malloc_kept(48);
		site_free(site_malloc(16 + i));
		site_free(site_calloc(5, 90));
		site_calloc_overflow();
		p = site_realloc(p, 9000 + i);
		p = site_realloc(p, 300000);
		site_free(p);
		site_free(site_aligned_alloc(640));
		site_free(site_memalign(1000));
		site_free(site_posix_memalign(777));
	}
	return truth_done();
}
/* SPDX-License-Identifier: Apache-2.0 */
