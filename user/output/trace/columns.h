/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace/columns: the events of one frame, field by field in columns, which compresses better.
 *
 *   tag   
 *  A F A A F        time  
 *  +812 +90 +77 +1200 +31
 *   size  
 *  48   48 112      addr  
 *  +0x40 -0x40 ...
 *
 * Every frame can be decoded alone. Private to this module; the layout is in FORMAT.md.
 */
#ifndef ALYS_TRACE_COLUMNS_H
#define ALYS_TRACE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "event/event.h"

enum column { COL_TAG, COL_TIME, COL_WHO, COL_ADDR, COL_SIZE, COL_STACK, COL_REALLOC, COL_EXTRA, COL_GC, COL_CNT };

#define COL_LEAST COL_GC /* files of version 1.0 end here */

#define COLUMNS_KINDS 8 /* kinds that fit into a tag; others share state 0 */

/* What the next event is relative to. All zero at the start of a frame. */
struct column_state {
	uint64_t time_ns;
	uint64_t addr;
	uint32_t proc, tid;
	struct {
		uint64_t interval;
		uint32_t gc_no;
		uint8_t flags;
	} of[COLUMNS_KINDS];
};

/* What a lost frame contained. Loss events count as the losses that they report. */
struct column_tally {
	uint64_t of[COLUMNS_KINDS];
	uint32_t silent; /* not calls: losses, and blocks carried over */
};

struct column_writer {
	struct buf col[COL_CNT];
	struct column_state state;
	uint32_t cnt;
	struct column_tally tally;
	uint64_t last_ns;
};

void columns_put(struct column_writer *w, const struct event *e);
size_t columns_size(const struct column_writer *w);
/* Appends the payload and empties the columns. */
void columns_finish(struct column_writer *w, struct buf *out);
void columns_free(struct column_writer *w);

struct column_reader {
	struct cursor col[COL_CNT];
	struct column_state state;
	uint32_t left;
};

/* False if the payload is malformed. data is borrowed. */
bool columns_open(struct column_reader *r, const void *data, size_t n, uint32_t count);
/* False at the end, or (then r->left is not 0) if the rest is malformed. */
bool columns_next(struct column_reader *r, struct event *e);

#endif
