/* libs: -lgc */
/*
 * libgc in a fixed pattern: small blocks of three size classes, which come from the thread's free lists, and larger
 * ones, which do not. With the argument "blocks", the truth states the sizes to which libgc rounds the small ones,
 * because a sample taken at a refill knows no other.
 */
#include <gc.h>

#include "truth.h"

#define ROUNDS 12000
#define KEPT 400

/* At file scope: a root of the collector. */
static void *volatile kept[KEPT];
static int in_blocks;

static size_t told(void *p, size_t n)
{
	return in_blocks ? GC_size(p) : n;
}

#define SMALL(call, n)                                       \
	({                                                   \
		void *small_ = (call);                       \
		truth_alloc(__func__, small_, told(small_, n)); \
	})

SITE void *site_list_16(void) { return SMALL((GC_malloc_atomic)(16), 16); }
SITE void *site_list_100(void) { return SMALL((GC_malloc)(100), 100); }
SITE void *site_list_300(void) { return SMALL((GC_malloc)(300), 300); }
SITE void *site_list_kept(void) { return SMALL((GC_malloc)(180), 180); }
SITE void *site_large_1000(void) { return ALLOC((GC_malloc)(1000), 1000); }
SITE void *site_large_5000(void) { return ALLOC((GC_malloc_atomic)(5000), 5000); }

int main(int argc, char **argv)
{
	in_blocks = argc > 1 && !strcmp(argv[1], "blocks");
	GC_INIT();
	truth_ready();
	for (int i = 0; i < ROUNDS; i++) {
		site_list_16();
		site_list_100();
		site_list_300();
		if (i % 4 == 0)
			kept[i / 4 % KEPT] = site_list_kept();
		if (i % 8 == 0)
			site_large_1000();
		if (i % 16 == 0)
			site_large_5000();
	}
	return truth_done();
}
/* SPDX-License-Identifier: Apache-2.0 */
