/* On each CPU one allocation that fails because of its size, then many that succeed. */
#include <sched.h>

#include "truth.h"

#define ROUNDS 4000

/* More than half of the address space: negative as a signed number. */
static volatile size_t refused = (size_t)3 << 62;

SITE void *site_granted(size_t n) { return ALLOC(malloc(n), n); }
SITE void site_given_back(void *p) { FREE(free, p); }

static void ask_on(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		return;
	if (malloc(refused))
		abort();
	for (int i = 0; i < ROUNDS; i++)
		site_given_back(site_granted(8192));
}

int main(void)
{
	cpu_set_t all;

	truth_ready();
	if (sched_getaffinity(0, sizeof(all), &all))
		return 7;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &all))
			ask_on(cpu);
	}
	return truth_done();
}
/* SPDX-License-Identifier: Apache-2.0 */
