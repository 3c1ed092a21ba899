/*
 * sink/tally: for event sinks that need more than a snapshot has: every path's blocks as they begin
 * and end, its sums, its own largest moment and the one of the whole heap. Not for other rooms.
 */
#ifndef ALYS_SINK_TALLY_H
#define ALYS_SINK_TALLY_H

#include "sink/lives.h"
#include "sink/paths.h"

struct amount {
	double cnt, sz;
};

struct tally_row {
	struct amount alloc, live;
	struct amount max;  /* own largest live, whenever that was */
	struct amount peak; /* live when the whole heap was at its largest; after tally_end */
	double life_ns;     /* sum over the ended, and over the rest until the end */
	uint64_t epoch;     /* of the last change of `peak` */
};

/* A block that begins (how is -1) or ends. */
struct tally_change {
	uint32_t path;
	int how; /* enum life_end */
	const struct life *life;
	struct amount by;
	uint64_t time_ns;
	bool temporary; /* freed before the next allocation of the thread that freed it */
};

struct tally {
	struct paths paths;
	struct lives lives;
	struct tally_row *rows;
	size_t rows_cnt, rows_cap;
	struct map threads; /* (proc, tid) -> id of the block born last */
	struct amount live, peak;
	uint64_t peak_ns, epoch;
	uint64_t first_ns, last_ns;
	uint64_t lost_frees;
	void (*changed)(void *ctx, const struct tally_change *c); /* after the sums; may be NULL */
	void *ctx;
};

void tally_begin(struct tally *t, const struct sink_input *in);
int tally_event(struct tally *t, const struct event *e, const struct applied *a);
/* Blocks that are left get their lifetimes, rows their peak. */
int tally_end(struct tally *t);
void tally_free(struct tally *t);

#endif
