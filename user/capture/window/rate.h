/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window/rate: when the reader of a sampled recording falls behind, the sampling interval grows until it has caught
 * up for a while. Every sample carries its own interval, so estimates stay unbiased. This file only computes the
 * interval.
 */
#ifndef ALYS_WINDOW_RATE_H
#define ALYS_WINDOW_RATE_H

#include <stdint.h>

#define RATE_SLOWER "the reader falls behind"
#define RATE_FASTER "the reader has caught up"

struct rate {
	uint64_t interval; /* bytes:N in force, 0 = exact */
	uint64_t ring_sz;
	uint64_t changes, changed_ns; /* set by rate_look */
};

/* The interval for this backlog in the ring, when `wanted` was requested; equal to the one in force: no change. */
uint64_t rate_look(struct rate *r, uint64_t wanted, uint64_t backlog, uint64_t now_ns);

#endif
