/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mallocview/page_pins: resident pages in which blocks of a recording fill little, whatever the allocator is. In: the live
 * blocks of a recording, and which pages are resident. What else lies in such a page is not known: it is free, older than the
 * recording, or was not sampled.
 */
#ifndef ALYS_MALLOCVIEW_PAGE_PINS_H
#define ALYS_MALLOCVIEW_PAGE_PINS_H

#include "access/pages.h"
#include "heapview/pins.h"

struct recorded_page {
	uint64_t addr;
	uint32_t used; /* bytes of blocks that were recorded */
	bool held;     /* resident, and at most a tenth is used by these */
};

struct recorded_block {
	uint64_t addr, bytes;
};

struct page_pins {
	struct recorded_page *pages; /* in which blocks begin or end: by address */
	size_t pages_cnt, pages_cap;
	struct recorded_block *blocks; /* all that are live: by address */
	size_t blocks_cnt, blocks_cap;
	uint64_t held, held_used; /* pages, and bytes of these blocks in them */
	struct heap *holding;     /* the blocks that lie in held pages */
	bool sampled;
};

/* 0 or -ENOMEM. Then page_pins_free. */
int page_pins_take(const struct heap *recorded, struct pages *pages, struct page_pins *out);
void page_pins_free(struct page_pins *p);
/* Blocks that begin from start to end: how many, and their bytes. */
uint64_t page_pins_within(const struct page_pins *p, uint64_t start, uint64_t end, uint64_t *bytes);
/* Members of a JSON object, each ended by a comma. */
void page_pins_facts(const struct page_pins *p, struct buf *out);
/* The table of sites. 0 or -errno. */
int page_pins_write(const struct page_pins *p, const struct recorded_heap *from, const struct report_options *o,
		    struct sink_out *out, struct err *err);

#endif
