/* SPDX-License-Identifier: Apache-2.0 */
/* resident/resident_memory: what the kernel says of a process' resident memory now. */
#ifndef ALYS_RESIDENT_RESIDENT_MEMORY_H
#define ALYS_RESIDENT_RESIDENT_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* Kinds of ALYS_MEMORY_*, as types of stacks; NULL: none of them. */
const char *memory_name(uint32_t kind);
/* Bytes, from smaps_rollup, which visits every page; 0: unknown. */
uint64_t memory_resident(uint32_t tgid);
/* /proc/PID/pagemap, or -errno. */
int memory_pages(uint32_t tgid);
/* Is this page resident? True if that cannot be read. ctx: the descriptor's address. */
bool memory_has_page(void *ctx, uint64_t addr);

#endif
