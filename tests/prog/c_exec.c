/* Allocates, executes itself again, allocates at another site: two heaps of one process. */
#include "truth.h"

#define ROUNDS 300

SITE void *site_before(size_t n) { return ALLOC(malloc(n), n); }
SITE void *site_after(size_t n) { return ALLOC(malloc(n), n); }
SITE void site_after_free(void *p) { FREE(free, p); }

static int second_life(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		void *p = site_after(96);

		if (i % 3 == 0)
			site_after_free(p);
	}
	return truth_done();
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return second_life();
	truth_ready();
	for (int i = 0; i < ROUNDS; i++)
		site_before(48);
	truth_print();
	execl("/proc/self/exe", argv[0], "again", NULL);
	return 7;
}
/* SPDX-License-Identifier: Apache-2.0 */
