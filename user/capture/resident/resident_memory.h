/* SPDX-License-Identifier: Apache-2.0 */
/* resident/resident_memory: what the kernel says of a process' resident memory now. */
#ifndef ALYS_RESIDENT_RESIDENT_MEMORY_H
#define ALYS_RESIDENT_RESIDENT_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Kinds of ALYS_MEMORY_*, as types of stacks; NULL: none of them. */
const char *memory_name(uint32_t kind);
/* Bytes, from smaps_rollup, which visits every page; 0: unknown. */
uint64_t memory_resident(uint32_t tgid);
/* For resident_sweep; ctx: the tgid's address. */
int memory_pages(void *ctx, const uint64_t *at, size_t n, uint8_t *out);

#endif
