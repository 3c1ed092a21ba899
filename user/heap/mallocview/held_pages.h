/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mallocview/held_pages: resident pages of malloc's arenas that a few blocks in use keep from being given back: at most a
 * tenth of the page is in use. In: a settled reading of the heap, and which pages are resident.
 */
#ifndef ALYS_MALLOCVIEW_HELD_PAGES_H
#define ALYS_MALLOCVIEW_HELD_PAGES_H

#include "access/pages.h"
#include "glibc/malloc_chunks.h"

struct held_page {
	uint64_t addr;
	uint32_t used; /* bytes of blocks in use, headers included */
	bool known;    /* the user's to set */
};

struct held_pages {
	struct held_page *all; /* by address */
	size_t all_cnt, all_cap;
	uint64_t used;                /* bytes in all of them */
	uint64_t blocks, block_bytes; /* that lie in them, wholly or in part; bytes as malloc_usable_size has them */
};

/* 0 or -ENOMEM. Then held_pages_free. */
int held_pages_take(const struct glibc_heap *h, struct pages *pages, struct held_pages *out);
void held_pages_free(struct held_pages *p);
/* The pages that a block lies in, in part[0] and part[1]: NULL for one that is not among these. False: neither is. */
bool held_pages_of(const struct held_pages *p, const struct glibc_chunk *c, struct held_page *part[2]);

#endif
