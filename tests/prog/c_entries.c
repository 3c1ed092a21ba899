/* libs: -Wl,--no-as-needed -lstdc++ */
/*
 * Calls every entry point of the allocator that is linked or preloaded (LD_PRELOAD), each from its own site and with one
 * size, so that the truth is known by name. Entry points that the allocator does not have are left out.
 */
#include <stdbool.h>

#include "truth.h"

#define KEPT 32

#define OF_SIZE(f) extern void *f(size_t) __attribute__((weak)); \
	SITE void *site_##f(size_t n) { return ALLOC(f(n), n); }
#define OF_COUNT(f) extern void *f(size_t, size_t) __attribute__((weak)); \
	SITE void *site_##f(size_t n) { return ALLOC(f(n / 8, 8), n); }
#define OF_ALIGN(f, align, suffix) extern void *f(size_t, size_t) __attribute__((weak)); \
	SITE void *site_##f##suffix(size_t n) { return ALLOC(f(align, n), n); }
#define OF_ALIGN_BEHIND(f, align, suffix) extern void *f(size_t, size_t) __attribute__((weak)); \
	SITE void *site_##f##suffix(size_t n) { return ALLOC(f(n, align), n); }
#define OF_PLACE(f, align, suffix) extern int f(void **, size_t, size_t) __attribute__((weak)); \
	SITE void *site_##f##suffix(size_t n) { void *p; return ALLOC(f(&p, align, n) ? NULL : p, n); }
#define OF_OLD(f) extern void *f(void *, size_t) __attribute__((weak)); \
	SITE void *site_##f##_null(size_t n) { return ALLOC(f(NULL, n), n); } \
	SITE void *site_##f##_grow(size_t n) { void *old = site_inner(16); return REALLOC(f(old, n), old, n); }
#define OF_OLD_COUNT(f) extern void *f(void *, size_t, size_t) __attribute__((weak)); \
	SITE void *site_##f##_null(size_t n) { return ALLOC(f(NULL, n / 8, 8), n); } \
	SITE void *site_##f##_grow(size_t n) { void *old = site_inner(16); return REALLOC(f(old, n / 8, 8), old, n); }
#define NOTHROW(f) extern void *f(size_t, const void *) __attribute__((weak)); \
	SITE void *site_##f(size_t n) { return ALLOC(f(n, ""), n); }
#define NOTHROW_ALIGN(f) extern void *f(size_t, size_t, const void *) __attribute__((weak)); \
	SITE void *site_##f(size_t n) { return ALLOC(f(n, 64, ""), n); }

SITE void *site_inner(size_t n) { return ALLOC(malloc(n), n); }

OF_SIZE(malloc)
OF_COUNT(calloc)
OF_OLD(realloc)
OF_OLD_COUNT(reallocarray)
OF_ALIGN(memalign, 8, _small)
OF_ALIGN(memalign, 256, _large)
OF_ALIGN(aligned_alloc, 8, _small)
OF_ALIGN(aligned_alloc, 64, _large)
OF_PLACE(posix_memalign, 16, _small)
OF_PLACE(posix_memalign, 256, _large)
OF_SIZE(valloc)
/* pvalloc rounds up to whole pages. */
extern void *pvalloc(size_t) __attribute__((weak));
SITE void *site_pvalloc(size_t n) { n += 4096 - n % 4096; return ALLOC(pvalloc(n), n); }
OF_SIZE(_Znwm)
OF_SIZE(_Znam)
NOTHROW(_ZnwmRKSt9nothrow_t)
NOTHROW(_ZnamRKSt9nothrow_t)
OF_ALIGN_BEHIND(_ZnwmSt11align_val_t, 64, )
OF_ALIGN_BEHIND(_ZnamSt11align_val_t, 64, )
NOTHROW_ALIGN(_ZnwmSt11align_val_tRKSt9nothrow_t)
NOTHROW_ALIGN(_ZnamSt11align_val_tRKSt9nothrow_t)
OF_ALIGN_BEHIND(mallocx, 0, )
extern void *rallocx(void *, size_t, int) __attribute__((weak));
SITE void *site_rallocx(size_t n) { void *old = site_inner(16); return REALLOC(rallocx(old, n, 0), old, n); }
OF_SIZE(tc_malloc)
OF_COUNT(tc_calloc)
OF_OLD(tc_realloc)
OF_ALIGN(tc_memalign, 64, )
OF_PLACE(tc_posix_memalign, 64, )
OF_SIZE(tc_valloc)
OF_SIZE(mi_malloc)
OF_SIZE(mi_malloc_small)
OF_SIZE(mi_zalloc)
OF_COUNT(mi_calloc)
OF_COUNT(mi_mallocn)
OF_OLD(mi_realloc)
OF_OLD(mi_rezalloc)
OF_OLD(mi_reallocf)
OF_OLD_COUNT(mi_reallocn)
OF_OLD_COUNT(mi_recalloc)
OF_ALIGN_BEHIND(mi_malloc_aligned, 8, _small)
OF_ALIGN_BEHIND(mi_malloc_aligned, 64, _large)
OF_ALIGN_BEHIND(mi_zalloc_aligned, 64, )
OF_ALIGN(mi_memalign, 64, )
OF_ALIGN(mi_aligned_alloc, 8, _small)
OF_PLACE(mi_posix_memalign, 16, _small)
OF_PLACE(mi_posix_memalign, 64, _large)
OF_SIZE(mi_valloc)
OF_SIZE(mi_new)
OF_COUNT(mi_new_n)
OF_ALIGN_BEHIND(mi_new_aligned, 64, )
OF_SIZE(mi_new_nothrow)

#define ROW(f) { (void *)f, site_##f },
#define WITH(f, suffix) { (void *)f, site_##f##suffix },
static const struct entry {
	void *there;
	void *(*site)(size_t);
} entries[] = {
	ROW(malloc) ROW(calloc) WITH(realloc, _null) WITH(realloc, _grow) WITH(reallocarray, _null) WITH(reallocarray, _grow)
	WITH(memalign, _small) WITH(memalign, _large) WITH(aligned_alloc, _small) WITH(aligned_alloc, _large)
	WITH(posix_memalign, _small) WITH(posix_memalign, _large) ROW(valloc) ROW(pvalloc)
	ROW(_Znwm) ROW(_Znam) ROW(_ZnwmRKSt9nothrow_t) ROW(_ZnamRKSt9nothrow_t) ROW(_ZnwmSt11align_val_t)
	ROW(_ZnamSt11align_val_t) ROW(_ZnwmSt11align_val_tRKSt9nothrow_t) ROW(_ZnamSt11align_val_tRKSt9nothrow_t)
	ROW(mallocx) ROW(rallocx) ROW(tc_malloc) ROW(tc_calloc) WITH(tc_realloc, _null) WITH(tc_realloc, _grow)
	ROW(tc_memalign) ROW(tc_posix_memalign) ROW(tc_valloc)
	ROW(mi_malloc) ROW(mi_malloc_small) ROW(mi_zalloc) ROW(mi_calloc) ROW(mi_mallocn) WITH(mi_realloc, _null)
	WITH(mi_realloc, _grow) WITH(mi_rezalloc, _null) WITH(mi_rezalloc, _grow) WITH(mi_reallocf, _null)
	WITH(mi_reallocf, _grow) WITH(mi_reallocn, _null) WITH(mi_reallocn, _grow) WITH(mi_recalloc, _null)
	WITH(mi_recalloc, _grow) WITH(mi_malloc_aligned, _small) WITH(mi_malloc_aligned, _large) ROW(mi_zalloc_aligned)
	ROW(mi_memalign) WITH(mi_aligned_alloc, _small) WITH(mi_posix_memalign, _small) WITH(mi_posix_memalign, _large)
	ROW(mi_valloc) ROW(mi_new) ROW(mi_new_n) ROW(mi_new_aligned) ROW(mi_new_nothrow)
};

SITE void site_free(void *p) { FREE(free, p); }

static void work(const struct entry *e, int calls)
{
	static void *kept[KEPT];
	for (int i = 0; i < calls + KEPT; i++) {
		site_free(kept[i % KEPT]);
		kept[i % KEPT] = i < calls ? e->site(192) : NULL;
	}
}

int main(int argc, char **argv)
{
	int calls = argc > 1 ? atoi(argv[1]) : 2000;
	truth_ready();
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		void *there = entries[i].there;
		__asm__ volatile("" : "+r"(there));
		/* jemalloc has no pvalloc: a block of glibc's would be freed by jemalloc. */
		bool strange = entries[i].site == site_pvalloc && mallocx;
		if (there && !strange)
			work(&entries[i], calls);
	}
	return truth_done();
}
/* SPDX-License-Identifier: Apache-2.0 */
