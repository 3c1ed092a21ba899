/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/slices: divides time into equal slices, up to a maximum number. When time runs past the last one, slices become
 * twice as wide, and the owner of per-slice data merges each two of them:
 *
 *   while (slices_widen(&s, since, MOST))
 *           merge pairs of what is kept;
 *   at = slices_at(&s, since);
 */
#ifndef ALYS_BASE_SLICES_H
#define ALYS_BASE_SLICES_H

#include <stdbool.h>
#include <stdint.h>

struct slices {
	uint32_t finest; /* initially a slice is 2^finest ns */
	uint32_t scale;  /* number of doublings */
};

static inline uint64_t slices_width_ns(const struct slices *s)
{
	return 1ull << (s->finest + s->scale);
}

/* The slice of a time, given since the start of the first slice. */
static inline uint64_t slices_at(const struct slices *s, uint64_t since_ns)
{
	return since_ns >> (s->finest + s->scale);
}

/* True: the slices were too narrow for that time and have been doubled. */
static inline bool slices_widen(struct slices *s, uint64_t since_ns, uint64_t most)
{
	if (slices_at(s, since_ns) < most)
		return false;
	s->scale++;
	return true;
}

/* A time before the start counts as the start. */
static inline uint64_t slices_since(uint64_t first_ns, uint64_t now_ns)
{
	return now_ns > first_ns ? now_ns - first_ns : 0;
}

#endif
