/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mallocview/malloc_rss: what the resident memory of a process consists of: chunks of malloc by state, to the byte, and its
 * mappings. In: a reading of its heap, and what the kernel says of its pages and mappings at that moment.
 */
#ifndef ALYS_MALLOCVIEW_MALLOC_RSS_H
#define ALYS_MALLOCVIEW_MALLOC_RSS_H

#include "glibc/sums.h"
#include "mallocview/held_pages.h"
#include "mallocview/malloc_reading.h"

struct memory_mapping { /* anonymous, and no stack */
	uint64_t start, end, resident, huge;
	bool brk;
};

struct malloc_rss { /* bytes */
	struct glibc_sums sums;
	struct glibc_sum all, stacks, anonymous, files, shared; /* mappings: how many, their size, what is resident */
	uint64_t written;                                       /* private copies of pages of files */
	uint64_t swapped, huge;                                 /* huge: of anonymous memory, in huge pages */
	struct memory_mapping *mappings;
	size_t mappings_cnt, mappings_cap;
	struct held_pages held;
	uint32_t unknown_stacks; /* of threads that were running: counted as anonymous */
};

/* A malloc_look_fn: ctx is the struct malloc_rss, zeroed before the first one. Then malloc_rss_free. */
int malloc_rss_look(void *ctx, struct malloc_reading *r, const struct threads *t, struct err *err);
void malloc_rss_free(struct malloc_rss *m);

#endif
