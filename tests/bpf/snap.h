/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the walk test's BPF programs send to its loader: a walked stack, and the registers and stack memory
 * from which it was walked, so that libdw can unwind the same input.
 */
#ifndef ALYS_TESTS_BPF_SNAP_H
#define ALYS_TESTS_BPF_SNAP_H

#include "alys.h"
#include "snap_regs.h"

#define SNAP_PAGES 32

struct snap {
	__u64 regs[SNAP_REGS];
	__u64 ips[ALYS_MAX_FRAMES];
	__u64 hash;
	__u64 missed;
	__u32 n, end;
	__u32 tgid, tid;
	__u64 stack_at;   /* page of sp */
	__u32 pages, pad; /* pages that could be read */
	__u8 stack[SNAP_PAGES][4096];
};

/* Set before load. */
struct snap_config {
	__u32 every; /* copy one stack in this many */
	__u32 cfa_off;
	__u32 fp_off; /* both as in struct alys_site */
	__u64 size;   /* only calls whose first argument is this, 0 = all */
};

struct snap_counts {
	__u64 walks, no_slot, ring_full;
	__u64 fresh;    /* walks that missed a mapping */
	__u64 ends[16]; /* how the other walks ended */
	__u64 frames;
	__u64 known, differ; /* stacks that were known; of these: the walk finds another one */
};

#endif
