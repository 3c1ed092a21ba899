/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink/tally: for event sinks that need more than a snapshot has: every path's blocks as they begin
 * and end, and its own largest moment, whichever stacks look like it. Which block an event begins
 * or ends is the model's decision; sums and the heap's peak are those of its snapshot. Not for
 * other modules.
 */
#ifndef ALYS_SINK_TALLY_H
#define ALYS_SINK_TALLY_H

#include "format/paths.h"

struct amount {
	double cnt, sz;
};

struct tally_row {
	struct amount live;
	struct amount max;     /* own largest live, whenever that was */
	struct amount carried; /* live when the recording began: not allocated in it */
	double life_ns;        /* sum over the ended, and over the rest until the end */
	/* After tally_end: */
	struct amount alloc;
	struct spread alloc_off; /* of alloc.sz */
	struct amount peak;      /* live when the whole heap was at its largest */
};

/* How a path's live bytes grew, by the rule of model.h. */
struct tally_growth {
	double gained, steadiness, gained_var;
};

/* A block that begins (how is -1) or ends. */
struct tally_change {
	uint32_t path;
	int how; /* enum life_end */
	const struct life *life;
	struct amount by;
	uint64_t time_ns;
	bool carried; /* a block that lived when the recording began */
};

struct tally {
	struct paths paths;
	struct tally_row *rows; /* by path */
	size_t rows_cnt, rows_cap;
	struct tally_growth *growth; /* by path, after tally_end; when grows is set */
	bool grows;
	struct heap *heap;
	struct amount live, peak;
	double var_live, var_alloc, var_peak; /* of bytes, after tally_end: see model.h */
	uint64_t peak_ns, first_ns, last_ns;  /* first_ns 0: no event yet, and the recording does not say */
	uint64_t lost_frees;
	bool failed;                                              /* memory ran out: sums are wrong */
	void (*changed)(void *ctx, const struct tally_change *c); /* after the sums; may be NULL */
	void *ctx;
};

/* Listens to in->heap from here on. */
void tally_begin(struct tally *t, const struct sink_input *in);
/* Blocks that are left get their lifetimes, rows their sums. 0 or -ENOMEM. */
int tally_end(struct tally *t);
void tally_free(struct tally *t);

#endif
