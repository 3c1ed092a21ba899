/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder/gcwatch: the garbage collectors of a recording's processes: the mark reader, what collections freed, and how
 * exact the live set is. Created when the first collector is found.
 */
#ifndef ALYS_RECORDER_GCWATCH_H
#define ALYS_RECORDER_GCWATCH_H

#include "base/err.h"
#include "catalog/catalog.h"
#include "catalog/exactness.h"
#include "intake/intake.h"
#include "liveness/liveness.h"
#include "recording/handles.h"

struct gc_watch {
	const struct handles *h;
	void *ctx;
	void (*event)(void *ctx, const struct event *e); /* frees and collections, to be written before the event at hand */
	struct marks *marks;                             /* NULL until a collector is found; so is liveness */
	struct liveness *liveness;
	struct exactness_heaps unseen; /* why no collections can be observed at all */
	uint64_t no_room;              /* number of processes whose collections could not be followed, at the last look */
};

/* A process whose collections will be observed; the first one creates the mark reader. */
int gcwatch_add(struct gc_watch *g, uint32_t tgid, struct err *err);
/* They cannot be observed. flagged: events mark its objects (EVENT_F_GC). */
void gcwatch_unseen(struct gc_watch *g, const struct proc *p, const struct unseen *u, bool flagged);
/* The heap belongs to another proc_id now, or is gone, or is no longer traced. */
void gcwatch_gone(struct gc_watch *g, struct proc_id proc, uint32_t tgid, uint64_t time_ns);

/* -ENOMEM, as in liveness.h. */
int gcwatch_event(struct gc_watch *g, uint32_t tgid, const struct event *e);
int gcwatch_collection(struct gc_watch *g, const struct intake_collection *c, const struct event *e);
int gcwatch_read_until(struct gc_watch *g, uint64_t time_ns);

/* No sampled object is left in any collected heap that is observed, as far as its collections were read. */
bool gcwatch_none_live(const struct gc_watch *g);
/* Call often: checks collectors that are not observed. */
void gcwatch_poll(struct gc_watch *g, uint64_t now_ns);
/* Several times a second: reads for which collections the kernel had no room. */
void gcwatch_count(struct gc_watch *g);
/* Objects from before the recording, by type, for catalog and trace; over: always, see liveness_report_older. */
void gcwatch_report_older(struct gc_watch *g, uint64_t now_ns, bool over);
/* How exact the live set is. collected: some process has a collector. */
void gcwatch_exactness(struct gc_watch *g, bool collected, struct exactness *out);
void gcwatch_free(struct gc_watch *g);

#endif
