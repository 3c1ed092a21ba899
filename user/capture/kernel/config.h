/* SPDX-License-Identifier: Apache-2.0 */
/* kernel/config: configuration of the BPF programs and the size of their maps. */
#ifndef ALYS_KERNEL_CONFIG_H
#define ALYS_KERNEL_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

struct probe_config {
	uint64_t interval;      /* bytes:N, 0 = exact */
	uint64_t page_interval; /* the same of pages */
	uint64_t min_size;
	uint32_t max_frames; /* 0 = no stacks */
	uint32_t ring_sz;    /* bytes, power of two */
	uint32_t calls_max;  /* for few processes: at most so many calls in flight; 0 = any number */
	uint64_t memory;     /* memory limit of the whole recording, of which maps get shares; 0 = none */
	bool follow;
	bool all;          /* every process that is not excluded, including later ones */
	uint32_t subjects; /* what is watched: 1 << ALYS_SUBJECT_*, or-ed */
	bool report_all;   /* report start and end of all processes */
	bool free_stacks;
	bool windowed;     /* probes are attached and detached at run time, see probe/window.h */
	bool page_windows; /* the programs for pages, too */
	bool check_stacks; /* compare each remembered walk with a full one */
	bool no_frees;     /* of plain allocators only allocations are recorded */
	bool noted;        /* probes that programs define, instead of their allocators' functions */
	bool counts_calls; /* of functions, see probe/entered.h */
	bool stop_at_gc;   /* see probe_allow_stops in collections.h */
	uint8_t walk;      /* ALYS_WALK_*, as requested */
};

#endif
