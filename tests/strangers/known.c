/*
 * Known allocations, a few MiB per site, for every compiler and linker: `known ROUNDS` prints its truth as
 * tests/prog/truth.h does; `known ROUNDS stand` also prints "standing" and waits for a byte in a deep stack.
 */
#include <malloc.h>

#include "stand.h"
#include "truth.h"

#define KEPT 512

SITE void *site_malloc(size_t n) { return ALLOC(malloc(n), n); }
SITE void *site_kept(size_t n) { return ALLOC(malloc(n), n); }
SITE void *site_calloc(size_t k, size_t n) { return ALLOC(calloc(k, n), k * n); }
SITE void *site_realloc_new(size_t n) { return REALLOC(realloc(NULL, n), NULL, n); }
SITE void *site_realloc_more(void *p, size_t n) { return REALLOC(realloc(p, n), p, n); }
SITE void *site_reallocarray_new(size_t k, size_t n) { return REALLOC(reallocarray(NULL, k, n), NULL, k * n); }
SITE void *site_memalign(size_t n) { return ALLOC(memalign(16, n), n); }
SITE void *site_memalign_wide(size_t n) { return ALLOC(memalign(256, n), n); }
SITE void *site_aligned_alloc(size_t n) { return ALLOC(aligned_alloc(64, n), n); }
SITE void *site_strdup(const char *s) { return ALLOC(strdup(s), strlen(s) + 1); }
SITE void site_free(void *p) { FREE(free, p); }
SITE void site_free_kept(void *p) { FREE(free, p); }

SITE void *site_posix_memalign(size_t align, size_t n)
{
	void *p = NULL;

	if (posix_memalign(&p, align, n))
		p = NULL;
	return ALLOC(p, n);
}

static void round_of(int i)
{
	static const char text[] = "what is known of a program is what it says of itself, in as many words as it takes";
	void *p;

	site_free(site_malloc(900 + i % 97));
	site_free(site_calloc(3, 300 + i % 31));
	p = site_realloc_new(800 + i % 11);
	site_free(site_realloc_more(p, 1900 + i % 500));
	site_free(site_reallocarray_new(7, 120));
	site_free(site_memalign(1000));
	site_free(site_memalign_wide(1100));
	site_free(site_aligned_alloc(1280));
	site_free(site_posix_memalign(8, 1001));
	site_free(site_posix_memalign(512, 1003));
	site_free(site_strdup(text));
}

SITE void *site_standing(void) { return ALLOC(malloc(STANDING), STANDING); }

STAND(site_standing)

int main(int argc, char **argv)
{
	static void *kept[KEPT];
	int rounds = argc > 1 ? atoi(argv[1]) : 1000;

	truth_ready();
	for (int i = 0; i < rounds; i++) {
		void **slot = &kept[i % KEPT];

		if (*slot)
			site_free_kept(*slot);
		*slot = site_kept(1000 + i % 300);
		round_of(i);
	}
	if (argc > 2)
		stand_deep(3);
	return truth_done();
}
/* SPDX-License-Identifier: Apache-2.0 */
