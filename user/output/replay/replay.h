/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay: a .alys file as input of the pipeline: opened, checked, its catalog read, its events
 * applied to a heap. Needs no privileges.
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
	struct map factors; /* process -> place in factor + 1: what samples of its windows stand for beyond what they say */
	double *factor;
	size_t factor_cnt, factor_cap;
	uint64_t from_ns, until_ns; /* events outside do not happen; 0 = no limit */
	bool within;                /* some call was within the limits */
};

/* Opens and reads everything but the events. On failure nothing is left open. */
int replay_open(struct replay *r, const char *path, struct err *err);
/* Keeps to what happened between these seconds of the recording; until 0 = no limits. */
void replay_limit(struct replay *r, double from, double until);
/*
 * Applies all events; fn (may be NULL) sees each one with what it did. -ENOENT when limits leave
 * nothing.
 */
int replay_events(struct replay *r, int (*fn)(void *ctx, const struct event *e, const struct applied *a), void *ctx,
		  struct err *err);
/* When the recording began, CLOCK_MONOTONIC. */
uint64_t replay_start_ns(const struct replay *r);
/* Of the whole recording; after replay_events. */
double replay_length_s(const struct replay *r);
/* "unclean end: ...", appended when the file is not whole; false when it is. */
bool replay_damage(const struct replay *r, struct buf *out);
void replay_close(struct replay *r);

#endif
