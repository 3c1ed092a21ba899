/* SPDX-License-Identifier: Apache-2.0 */
/*
 * liveness: determines which recorded objects of a collected heap a collection freed. In: events and collections in
 * ring order, readings of marks. Out: a free for each object found dead, an event for each collection, and how exact
 * the live set is.
 *
 * Ring order decides: records before "n is marked" are of objects that n could have marked, later ones are not. This
 * holds for calls in flight, too: their object is in a register of their thread, so it is marked; records that follow
 * are judged by n + 1. So no free comes too late. Objects whose explicit free was recorded while the marks were read
 * are already gone: marks are applied once the ring has been read up to the time of their reading.
 *
 * If a collection was not read in time (missed), dead objects can look live until their memory is reused: from there on
 * the live set is an upper bound. A live object is never reported dead. The live set is not exact either if the
 * collector marks objects without a record: allocated in other ways, or before the recording; see liveness/unrecorded.
 *
 * If collections of a process cannot be observed, its counter of collections is polled (asked). Objects whose records
 * were read while it was still n are judged by the marks of any later collection:
 *
 *   counter n: A is known 
 *  collection n+1 
 *  counter n+1: read, apply: A may be dead, B came after the last look
 */
#ifndef ALYS_LIVENESS_H
#define ALYS_LIVENESS_H

#include "catalog/catalog.h"
#include "catalog/exactness.h"
#include "intake/intake.h"
#include "liveness/marks.h"

struct liveness;

/* Origin of a process' heap. */
enum heap_origin {
	ORIGIN_BEFORE,    /* existed before the recording */
	ORIGIN_RECORDING, /* created during it */
	ORIGIN_PARENT,    /* copied by fork during it */
};

struct liveness_ops {
	void *ctx;
	/* Frees and collections, to be written before the current event. */
	void (*event)(void *ctx, const struct event *e);
	/*
	 * What is left of objects from before the recording: type NULL starts the list of a process, then come its
	 * types. -ENOMEM.
	 */
	int (*older)(void *ctx, struct proc_id proc, const char *type, uint64_t cnt, uint64_t bytes);
	enum heap_origin (*origin)(void *ctx, struct proc_id proc);
	/* PART_ALL: every object is recorded, so marked objects can be compared with recorded ones. */
	enum exactness_part part;
};

struct liveness *liveness_new(struct marks *m, const struct liveness_ops *ops);
void liveness_free(struct liveness *l);

/* Call for each event before it is written. -ENOMEM if an object could not be stored. */
int liveness_event(struct liveness *l, uint32_t tgid, const struct event *e);
/* A collection in ring order; e: proc, tid, stack and times of the collection are filled in. */
int liveness_collection(struct liveness *l, const struct intake_collection *c, const struct event *e);
/* All records sent before this time have been read. */
int liveness_read_until(struct liveness *l, uint64_t time_ns);
/*
 * The collections of this process cannot be observed. flagged: events mark its objects (EVENT_F_GC), so that it can be
 * polled. -ENOMEM.
 */
int liveness_unseen(struct liveness *l, const struct proc *p, const struct unseen *u, bool flagged);
/* Call often: polls processes that are due. no_room: processes whose collections could not be followed. */
void liveness_poll(struct liveness *l, uint64_t now_ns, uint64_t no_room);
/* The heap of this process is gone: exit, exec. */
void liveness_gone(struct liveness *l, struct proc_id proc, uint64_t time_ns);
/* lost: records of collections that did not fit into the ring; for the last ones nothing else shows the loss. */
void liveness_exactness(struct liveness *l, uint64_t lost, struct exactness *out);

/* Reports objects from before the recording, if that has changed; all: always, otherwise when it is due. */
void liveness_report_older(struct liveness *l, uint64_t now_ns, bool all);

struct liveness_counts {
	uint64_t collections, missed, reclaimed, reclaimed_sz, reused;
	uint64_t unknown, unknown_sz;         /* marked by the last compared collections, and not recorded */
	uint64_t older, older_sz;             /* the same, from before the recording */
	uint64_t empty, empty_sz;             /* the same, of any age, possibly free: they contain only zeros */
	uint64_t older_empty, older_empty_sz; /* of these, from before the recording */
	uint64_t inherited, inherited_sz;     /* the same, from a parent's heap at fork */
	uint64_t uncompared;                  /* heaps from before the recording without any compared collection */
	uint64_t reached, reached_sz;         /* marked by the last collections that were read completely, recorded or not */
	uint64_t since;                       /* collections after these */
	uint64_t unread;                      /* heaps without such a collection */
	uint64_t longest_ns; /* maximum CPU time for the objects of one collection, writing their frees included */
};

struct liveness_counts liveness_counts(const struct liveness *l);

#endif
