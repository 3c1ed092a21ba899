/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder/rate: a sampled recording whose reader falls behind samples less, until it has caught up for a while. Every
 * sample carries the interval that it was drawn for, so estimates stay right across changes. Only says what should be.
 */
#ifndef ALYS_RECORDER_RATE_H
#define ALYS_RECORDER_RATE_H

#include <stdint.h>

#define RATE_SLOWER "the reader falls behind"
#define RATE_FASTER "the reader has caught up"

struct rate {
	uint64_t interval; /* bytes:N in force, 0 = exact */
	uint64_t ring_sz;
	uint64_t changes, changed_ns; /* by rate_look */
};

/* The interval that suits a backlog of so many bytes in the ring, where `wanted` was asked for; the one in force: no change. */
uint64_t rate_look(struct rate *r, uint64_t wanted, uint64_t backlog, uint64_t now_ns);

#endif
