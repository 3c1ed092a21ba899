/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/slices: time in equal slices, of which there are at most so many. They are twice as wide when time runs over the
 * last one; who keeps something by slice then makes one of each two:
 *
 *   while (slices_widen(&s, since, MOST))
 *           halve what is kept;
 *   at = slices_at(&s, since);
 */
#ifndef ALYS_BASE_SLICES_H
#define ALYS_BASE_SLICES_H

#include <stdbool.h>
#include <stdint.h>

struct slices {
	uint32_t finest; /* at first a slice has 2^finest ns */
	uint32_t scale;  /* how often it was doubled */
};

static inline uint64_t slices_width_ns(const struct slices *s)
{
	return 1ull << (s->finest + s->scale);
}

/* The number of the slice at that time since the begin of the first. */
static inline uint64_t slices_at(const struct slices *s, uint64_t since_ns)
{
	return since_ns >> (s->finest + s->scale);
}

/* True: they were too narrow for that time, and are twice as wide now. */
static inline bool slices_widen(struct slices *s, uint64_t since_ns, uint64_t most)
{
	if (slices_at(s, since_ns) < most)
		return false;
	s->scale++;
	return true;
}

/* Time that goes back counts as the begin. */
static inline uint64_t slices_since(uint64_t first_ns, uint64_t now_ns)
{
	return now_ns > first_ns ? now_ns - first_ns : 0;
}

#endif
