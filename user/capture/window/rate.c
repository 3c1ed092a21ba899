/* SPDX-License-Identifier: Apache-2.0 */
/* window/rate: see rate.h. */
#include "window/rate.h"

/* After a change the reader gets this long to catch up. */
#define CALM_BEFORE_SLOWER_NS 100000000ull
#define CALM_BEFORE_FASTER_NS 3000000000ull
#define SLOWEST 1024 /* times the requested interval */

static uint64_t next(const struct rate *r, uint64_t wanted, uint64_t backlog, uint64_t calm_ns)
{
	if (backlog >= r->ring_sz / 2)
		return r->interval < wanted * SLOWEST && calm_ns >= CALM_BEFORE_SLOWER_NS ? r->interval * 2 : r->interval;
	if (r->interval != wanted && backlog < r->ring_sz / 16 && calm_ns >= CALM_BEFORE_FASTER_NS)
		return r->interval / 2;
	return r->interval;
}

uint64_t rate_look(struct rate *r, uint64_t wanted, uint64_t backlog, uint64_t now_ns)
{
	uint64_t interval = wanted ? next(r, wanted, backlog, now_ns - r->changed_ns) : r->interval;
	if (interval != r->interval) {
		r->changes++;
		r->changed_ns = now_ns;
	}
	return interval;
}
