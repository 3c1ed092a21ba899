/*
 * Repeats a fixed pattern of allocations, a few MiB per site: a sampler with fixed instead of random intervals would fall
 * into step with it and sample one site always, another never. Lives until stdin ends, so that tests can attach and detach.
 * `c_fixed [TIMES]` repeats the whole work that often.
 */
#include "truth.h"

#define ROUNDS 20000

SITE void *site_fixed_16(void) { return ALLOC(malloc(16), 16); }
SITE void *site_fixed_240(void) { return ALLOC(malloc(240), 240); }
SITE void *site_fixed_256(void) { return ALLOC(malloc(256), 256); }
SITE void *site_fixed_3584(void) { return ALLOC(malloc(3584), 3584); }
SITE void *site_fixed_kept(void) { return ALLOC(malloc(512), 512); }
SITE void site_fixed_free(void *p) { FREE(free, p); }

int main(int argc, char **argv)
{
	int rounds = ROUNDS * (argc > 1 ? atoi(argv[1]) : 1);
	truth_ready();
	for (int i = 0; i < rounds; i++) {
		site_fixed_free(site_fixed_16());
		site_fixed_free(site_fixed_240());
		site_fixed_free(site_fixed_256());
		site_fixed_free(site_fixed_3584());
		if (i % 4 == 0)
			site_fixed_kept();
	}
	return truth_done();
}
/* SPDX-License-Identifier: Apache-2.0 */
