/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay: reads a .alys file into the pipeline: opens and checks it, reads its catalog, applies its events to a heap.
 * Needs no privileges.
 */
#ifndef ALYS_REPLAY_H
#define ALYS_REPLAY_H

#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "catalog/catalog.h"
#include "model/model.h"
#include "trace/trace.h"

struct replay {
	struct trace *trace;
	struct catalog *catalog;
	struct heap *heap;
	struct trace_health health;
	struct map factors; /* process, and whether by CPU time -> index in factor + 1: scale factor of its window samples */
	double *factor;
	size_t factor_cnt, factor_cap;
	uint64_t from_ns, until_ns; /* events outside are ignored; 0 = no limit */
	bool within;                /* some call was within the range */
};

/* Reads everything but the events. On failure nothing is left open. */
int replay_open(struct replay *r, const char *path, struct err *err);
/* What the events are about: a subject's number and 1; 0 = the recording's first. -ENOENT: it has none of that. */
int replay_show(struct replay *r, uint32_t shown, struct err *err);
/* Limits replay to these seconds of the recording; until 0 = no limit. */
void replay_limit(struct replay *r, double from, double until);
/* Applies all events; fn (may be NULL) gets each one with its effect. -ENOENT if the range contains none. */
int replay_events(struct replay *r, int (*fn)(void *ctx, const struct event *e, const struct applied *a), void *ctx,
		  struct err *err);
/* When the recording began, CLOCK_MONOTONIC. */
uint64_t replay_start_ns(const struct replay *r);
/* Of the whole recording; after replay_events. */
double replay_length_s(const struct replay *r);
/* "unclean end: ...", appended if the file is incomplete; false if it is complete. */
bool replay_damage(const struct replay *r, struct buf *out);
void replay_close(struct replay *r);

#endif
