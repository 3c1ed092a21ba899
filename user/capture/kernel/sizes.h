/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel/sizes: sizes of the BPF maps: as large as is useful, within a share of the available memory. Private to
 * kernel/, but for probe_sized and the two of the ring in probe.h.
 */
#ifndef ALYS_KERNEL_SIZES_H
#define ALYS_KERNEL_SIZES_H

#include <stdint.h>

#include "kernel/config.h"

struct alys_bpf;

struct sizes {
	uint32_t sampled;  /* blocks */
	uint32_t calls;    /* in flight, waiting for exits */
	uint32_t mappings; /* of all processes */
	uint32_t chunks;   /* of rows */
	uint32_t accounts; /* functions whose calls are counted one by one */
	uint32_t slots;    /* simultaneous walks */
	uint32_t known;    /* stacks that need not be walked again */
};

/* Bytes of the maps that are sized by available memory. */
uint64_t probe_sized(const struct probe_config *cfg);
/* Room for unread records under this memory limit: as requested, or smaller. */
uint32_t probe_ring_share(uint64_t memory, uint32_t room);
/*
 * How much of that is the ring. The programs write a ring from end to end, however little of it is unread: what a large
 * one is written to has long left the processor's caches. In one of 64 MiB the programs at malloc and free take 40 % more
 * time than in one of 4 MiB. The rest is the reader's, see intake/queue.h.
 */
uint32_t probe_ring_part(uint64_t room);
struct sizes sizes_of(const struct probe_config *cfg);
/* For maps that are not created yet. 0 or -errno. */
int sizes_set(struct alys_bpf *skel, const struct probe_config *cfg);

#endif
