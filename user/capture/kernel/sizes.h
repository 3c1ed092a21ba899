/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel/sizes: how large the maps of our programs are made: as large as they are of use, within a share each of the memory
 * that there is. Not for other modules, but for probe_sized and probe_ring_share in probe.h.
 */
#ifndef ALYS_KERNEL_SIZES_H
#define ALYS_KERNEL_SIZES_H

#include <stdint.h>

#include "kernel/config.h"

struct alys_bpf;

struct sizes {
	uint32_t sampled;  /* blocks */
	uint32_t calls;    /* under way in exit sites */
	uint32_t mappings; /* of all processes */
	uint32_t chunks;   /* of rows */
	uint32_t accounts; /* functions whose calls are counted one by one */
	uint32_t slots;    /* walks at the same time */
};

/* Bytes of those maps that are sized by the memory that there is. */
uint64_t probe_sized(const struct probe_config *cfg);
/* The ring's size where so much memory is for all: as asked for, or less. */
uint32_t probe_ring_share(uint64_t memory, uint32_t ring_sz);
struct sizes sizes_of(const struct probe_config *cfg);
/* Of maps that are not opened yet. 0 or -errno. */
int sizes_set(struct alys_bpf *skel, const struct probe_config *cfg);

#endif
