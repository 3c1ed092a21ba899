/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boehm/scan: recognizes the upper table of the block index in memory without symbols: 2048 pointers, most of them to
 * one lower table full of zeroes, each of the others to a lower table whose key belongs in just that slot. Private to
 * this module.
 */
#ifndef ALYS_BOEHM_SCAN_H
#define ALYS_BOEHM_SCAN_H

#include "boehm/memory.h"
#include "boehm/space.h"

struct scan_hit {
	uint64_t top_index, all_nils;
	uint64_t mark_stack; /* 0: nothing of its shape nearby, or several candidates */
	uint64_t mark_state; /* 0: not found */
};

/* Searches the writable memory of [start, end). 0, or -ENOENT, -ESRCH, -EPERM, -ENOMEM. */
int scan_range(struct memory *m, const struct space *s, uint64_t start, uint64_t end, struct scan_hit *out);

#endif
