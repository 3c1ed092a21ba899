/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boehm/layout: where a build of Boehm's collector keeps its index of blocks, and the format of its block headers.
 *
 *   top_index[2048] -> bottom_index (1024 words: block headers; ...; key) -> hash_link -> ...
 *        slot = key & 2047          key = address >> 22, slot = (address >> 12) & 1023
 *   a word: 0 = no block, below 4096 = so many blocks back to the header, else the header's address
 *
 * Not supported: 32-bit programs, block sizes other than 4096.
 */
#ifndef ALYS_BOEHM_LAYOUT_H
#define ALYS_BOEHM_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BOEHM_BLOCK 4096

enum layout_found {
	LAYOUT_BY_SYMBOL, /* found through the symbol GC_arrays */
	LAYOUT_BY_SCAN,   /* the index was recognized in writable memory */
};

enum layout_marks {
	LAYOUT_MARK_BYTES,   /* one byte per granule of 16 bytes */
	LAYOUT_MARK_BITS,    /* one bit per granule */
	LAYOUT_MARK_OBJECTS, /* one byte per object */
	LAYOUT_MARK_OBJECT_BITS,
};

struct layout {
	uint64_t top_index;  /* address in the process */
	uint64_t all_nils;   /* the shared empty bottom index */
	uint64_t gc_no;      /* address of the cycle counter, 0 = unknown: then the latest cycle in the headers is used */
	uint64_t mark_stack; /* address of its base, limit and top, which is below the base except during marking; 0 = unknown */
	uint64_t mark_state; /* address of 32 bits that are 0 except while marks are cleared or set; 0 = unknown */
	uint32_t n_marks_off, marks_off; /* in a block's header */
	enum layout_marks marks;
	bool incremental; /* marks are set and cleared incrementally: an upper bound */
	enum layout_found found;
	uint32_t checked; /* headers that matched this layout; 0: empty heap, nothing to check yet */
	char file[256];   /* that contains the collector, for messages */
};

/* "bytes, found by symbol, 512 headers agreed", for people. */
void layout_describe(const struct layout *l, char *out, size_t cap);

#endif
