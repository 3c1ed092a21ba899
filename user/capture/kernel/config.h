/* SPDX-License-Identifier: Apache-2.0 */
/* kernel/config: what the programs are to do, and how large their tables are. */
#ifndef ALYS_KERNEL_CONFIG_H
#define ALYS_KERNEL_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

struct probe_config {
	uint64_t interval; /* bytes:N, 0 = exact */
	uint64_t min_size;
	uint32_t max_frames; /* 0 = no stacks */
	uint32_t ring_sz;    /* bytes, power of two */
	uint32_t calls_max;  /* for a few processes, which have this many calls under way at once; 0 = for any */
	uint64_t memory;     /* that all of the recording may take: maps get shares of it; 0 = no limit */
	bool follow;
	bool all;      /* every process that is not excluded, those to come included */
	bool tell_all; /* tell of all processes that begin and end */
	bool free_stacks;
	bool windowed;     /* probes may come and go, see probe/window.h */
	bool check_stacks; /* compare each remembered stack with a full walk */
	bool stop_at_gc;   /* see probe_allow_stops in collections.h */
	uint8_t walk;      /* ALYS_WALK_*, wanted */
};

#endif
