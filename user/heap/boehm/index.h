/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boehm/index: the collector's two-level table of blocks (drawing in layout.h) as a list: address of a block, address
 * of its header. Private to this module.
 */
#ifndef ALYS_BOEHM_INDEX_H
#define ALYS_BOEHM_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "boehm/memory.h"

#define INDEX_TOP 2048    /* words of the upper table */
#define INDEX_BOTTOM 1024 /* words of a lower one */

/* Words of a bottom index. */
enum {
	BOTTOM_KEY = 0x2010,
	BOTTOM_HASH_LINK = 0x2018,
	BOTTOM_SZ = 0x2020,
};

struct index_entry {
	uint64_t block, header;
};

struct block_index {                 /* a zeroed one is empty */
	struct index_entry *entries; /* by address of the block */
	size_t entries_cnt, entries_cap;
	uint32_t strange; /* lower tables found in the wrong slot for their key */
};

/* 0, or -EFAULT (the upper table cannot be read), -ESRCH, -EPERM, -ENOMEM, -E2BIG. */
int index_read(struct memory *m, uint64_t top_index, uint64_t all_nils, struct block_index *out);
/* Only entries that may contain the given addresses (ascending): the last entry at or before each. */
int index_read_of(struct memory *m, uint64_t top_index, uint64_t all_nils, const uint64_t *addrs, size_t cnt,
		  struct block_index *out);
void index_free(struct block_index *x);

#endif
