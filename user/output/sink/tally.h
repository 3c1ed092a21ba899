/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink/tally: for event sinks that need more than a snapshot: the blocks of every path as they begin and end, and each
 * path's own maximum. The model decides which block an event begins or ends; sums and the heap's peak come from its
 * snapshot. Private to this module.
 */
#ifndef ALYS_SINK_TALLY_H
#define ALYS_SINK_TALLY_H

#include "format/paths.h"

struct amount {
	double cnt, sz;
};

struct tally_row {
	struct amount live;
	struct amount max;     /* its own maximum of live bytes, whenever that was */
	struct amount carried; /* live when the recording began: not allocated during it */
	double life_ns;        /* sum of lifetimes, up to the end for live ones */
	/* After tally_end: */
	struct amount alloc;
	struct spread alloc_off; /* of alloc.sz */
	struct amount peak;      /* live at the whole heap's maximum */
};

/* Growth of a path's live bytes, by the rule of model.h. */
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
	bool carried; /* a block that was live when the recording began */
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
	bool failed;                                              /* out of memory: sums are wrong */
	void (*changed)(void *ctx, const struct tally_change *c); /* after the sums; may be NULL */
	void *ctx;
};

/* Starts listening to in->heap. */
void tally_begin(struct tally *t, const struct sink_input *in);
/* Completes lifetimes of live blocks and sums. 0 or -ENOMEM. */
int tally_end(struct tally *t);
void tally_free(struct tally *t);

#endif
