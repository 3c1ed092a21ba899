/* libs: -lgc */
/* Collects thousands of times: small blocks that nobody keeps, in a heap that does not grow. Prints its truth. */
#include <gc.h>

#include "truth.h"

#define BLOCKS 4000000

SITE void *site_storm(void)
{
	return ALLOC(GC_malloc(64), 64);
}

int main(void)
{
	GC_INIT();
	GC_set_free_space_divisor(200); /* collects rather than takes memory */
	truth_ready();
	for (int i = 0; i < BLOCKS; i++)
		site_storm();
	return truth_done();
}
/* SPDX-License-Identifier: Apache-2.0 */
