/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mallocview/malloc_pins: whose blocks keep nearly empty pages of malloc's heap: pages of the live process joined with the
 * allocations of a recording. A block of the recording counts while a block in use of its size is still at its address.
 */
#ifndef ALYS_MALLOCVIEW_MALLOC_PINS_H
#define ALYS_MALLOCVIEW_MALLOC_PINS_H

#include "heapview/pins.h"
#include "mallocview/held_pages.h"

struct malloc_pins {
	struct heap *blocks;           /* the recorded ones that lie in such pages */
	uint64_t known, known_pages;   /* of these blocks; pages that they lie in */
	uint64_t others, others_bytes; /* blocks that lie in such pages, and were not recorded */
	uint64_t others_pages;         /* pages in which only those lie */
	bool sampled, lossy;           /* the others may be younger than the recording */
};

/* held: its marks are set. 0 or -ENOMEM. Then malloc_pins_free. */
int malloc_pins_take(const struct glibc_heap *h, struct held_pages *held, const struct heap *recorded, struct malloc_pins *out);
void malloc_pins_free(struct malloc_pins *p);
/* Members of a JSON object, each ended by a comma. */
void malloc_pins_facts(const struct malloc_pins *p, struct buf *out);
/* The table of sites. 0 or -errno. */
int malloc_pins_write(const struct malloc_pins *p, const struct held_pages *held, const struct recorded_heap *from,
		      const struct report_options *o, struct sink_out *out, struct err *err);

#endif
