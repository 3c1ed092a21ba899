/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder/gcwatch: the collectors of a recording's processes: who reads their marks, what their collections freed, and
 * what is to be thought of blocks in use. Nothing of it is there until the first collector is found.
 */
#ifndef ALYS_RECORDER_GCWATCH_H
#define ALYS_RECORDER_GCWATCH_H

#include "base/err.h"
#include "catalog/catalog.h"
#include "intake/intake.h"
#include "liveness/liveness.h"
#include "recording/handles.h"

struct gc_watch {
	const struct handles *h;
	void *ctx;
	void (*event)(void *ctx, const struct event *e); /* frees and collections, to be written before the event at hand */
	struct marks *marks;                             /* NULL until a collector is found, like liveness */
	struct liveness *liveness;
	char *unseen;     /* why no collections at all can be seen, NULL = some can */
	uint64_t no_room; /* collections of processes that could not be followed, when last looked */
};

/* A process whose collections will be seen; the first one makes the reader of marks. */
int gcwatch_add(struct gc_watch *g, uint32_t tgid, struct err *err);
/* They cannot be seen: why. told: its objects are told from others' in events. */
void gcwatch_unseen(struct gc_watch *g, const struct proc *p, const char *why, bool told);
/* The heap is of another process number than before, or gone, or not looked at any more. */
void gcwatch_gone(struct gc_watch *g, struct proc_id proc, uint32_t tgid);

/* -ENOMEM, as in liveness.h. */
int gcwatch_event(struct gc_watch *g, uint32_t tgid, const struct event *e);
int gcwatch_collection(struct gc_watch *g, const struct intake_collection *c, const struct event *e);
int gcwatch_read_until(struct gc_watch *g, uint64_t time_ns);

/* To be called often: looks at collectors that tell nothing. */
void gcwatch_ask(struct gc_watch *g, uint64_t now_ns);
/* Some times a second: which collections the kernel had no room to follow. */
void gcwatch_count(struct gc_watch *g);
/* Objects from before the recording, by type, into catalog and trace; over: whatever it costs, see liveness_tell_older. */
void gcwatch_tell_older(struct gc_watch *g, uint64_t now_ns, bool over);
/* What is to be thought of blocks in use, "" when no heap is a collector's; collected: some process has one. */
void gcwatch_describe(struct gc_watch *g, bool collected, char *out, size_t cap);
void gcwatch_free(struct gc_watch *g);

#endif
