/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocation functions that no library of Debian 12 exports: jemalloc's with its own prefix and with that of the Rust
 * crate, and C23's. They take blocks from an array, so that no other allocator is called below them.
 */
#include <stdalign.h>

#include "truth.h"

#define ARENA (64u << 20)

static alignas(64) char arena[ARENA];
static size_t used;

__attribute__((noinline)) static void *take(size_t n)
{
	size_t at = used;

	used += (n + 63) / 64 * 64;
	return used <= ARENA ? arena + at : NULL;
}

#define EXPORTED __attribute__((noipa))
EXPORTED void *_rjem_malloc(size_t n) { void *p = take(n); NO_TAIL_CALL(); return p; }
EXPORTED void *_rjem_calloc(size_t n, size_t size) { void *p = take(n * size); NO_TAIL_CALL(); return p; }
EXPORTED void *_rjem_mallocx(size_t n, int flags) { void *p = take(n + 0 * (size_t)flags); NO_TAIL_CALL(); return p; }
EXPORTED void *_rjem_rallocx(void *old, size_t n, int flags) { void *p = take(n); memcpy(p, old, flags ? 1 : 8); NO_TAIL_CALL(); return p; }
EXPORTED void _rjem_sdallocx(void *p, size_t n, int flags) { *(char *)p = (char)(n + (size_t)flags); NO_TAIL_CALL(); }
EXPORTED void _rjem_free(void *p) { *(char *)p = 1; NO_TAIL_CALL(); }
EXPORTED void *je_aligned_alloc(size_t align, size_t n) { void *p = take(n + 0 * align); NO_TAIL_CALL(); return p; }
EXPORTED void je_free_aligned_sized(void *p, size_t align, size_t n) { *(char *)p = (char)(align + n); NO_TAIL_CALL(); }
EXPORTED void free_sized(void *p, size_t n) { *(char *)p = (char)n; NO_TAIL_CALL(); }
EXPORTED void free_aligned_sized(void *p, size_t align, size_t n) { *(char *)p = (char)(align + n); NO_TAIL_CALL(); }

SITE void *site_malloc(size_t n) { return ALLOC(_rjem_malloc(n), n); }
SITE void *site_calloc(size_t n) { return ALLOC(_rjem_calloc(n / 8, 8), n); }
SITE void *site_mallocx(size_t n) { return ALLOC(_rjem_mallocx(n, 0), n); }
SITE void *site_rallocx(void *old, size_t n) { return REALLOC(_rjem_rallocx(old, n, 0), old, n); }
SITE void site_sdallocx(void *p, size_t n) { truth_free(__func__, p); _rjem_sdallocx(p, n, 0); NO_TAIL_CALL(); }
SITE void site_free(void *p) { FREE(_rjem_free, p); }
SITE void *site_aligned_alloc(size_t n) { return ALLOC(je_aligned_alloc(64, n), n); }
SITE void site_je_free_aligned_sized(void *p, size_t n) { truth_free(__func__, p); je_free_aligned_sized(p, 64, n); NO_TAIL_CALL(); }
SITE void site_free_sized(void *p, size_t n) { truth_free(__func__, p); free_sized(p, n); NO_TAIL_CALL(); }
SITE void site_free_aligned_sized(void *p, size_t n) { truth_free(__func__, p); free_aligned_sized(p, 64, n); NO_TAIL_CALL(); }

int main(void)
{
	truth_ready();
	for (size_t i = 0; i < 1000; i++) {
		void *p[6] = { site_malloc(104), site_calloc(96), site_mallocx(88),
			       site_malloc(56), site_malloc(40), site_aligned_alloc(192) };

		p[2] = site_rallocx(p[2], 200);
		if (i % 2)
			site_free(p[0]);
		if (i % 3)
			site_sdallocx(p[1], 96);
		if (i % 5)
			site_free_sized(p[3], 56);
		if (i % 7)
			site_free_aligned_sized(p[4], 40);
		if (i % 11)
			site_je_free_aligned_sized(p[5], 192);
	}
	return truth_done();
}
