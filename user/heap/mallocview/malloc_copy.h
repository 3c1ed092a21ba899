/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mallocview/malloc_copy: the blocks in use of a malloc heap with a copy of what they contain, and of the heap's roots. In: a
 * reading of the heap, the process' mappings and threads. Untouched pages are not read. Out: what malloc_graph looks through.
 */
#ifndef ALYS_MALLOCVIEW_MALLOC_COPY_H
#define ALYS_MALLOCVIEW_MALLOC_COPY_H

#include "marking/roots.h"
#include "mallocview/malloc_reading.h"

struct copied_block {
	uint64_t addr, bytes; /* as malloc returned it; usable bytes, whole words */
	uint64_t at;          /* in malloc_copy.bytes */
	size_t class;         /* the user's to set */
};

struct malloc_copy {
	struct copied_block *blocks; /* by address, without overlap */
	size_t blocks_cnt, blocks_cap;
	uint8_t *bytes; /* zero where nothing could be read */
	uint64_t bytes_cnt;
	size_t unreadable;
	struct roots roots;
};

/* A malloc_look_fn: ctx is the struct malloc_copy, zeroed before the first one. Then malloc_copy_free. */
int malloc_copy_look(void *ctx, struct malloc_reading *r, const struct threads *t, struct err *err);
void malloc_copy_free(struct malloc_copy *c);
/* The block that contains the address; blocks_cnt: none. */
size_t malloc_copy_find(const struct malloc_copy *c, uint64_t addr);

#endif
