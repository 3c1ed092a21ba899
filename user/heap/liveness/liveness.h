/* SPDX-License-Identifier: Apache-2.0 */
/*
 * liveness: which recorded objects of a collected heap a collection reclaimed. In: events and
 * collections in the order of the ring, readings of marks. Out: a free for each object found dead, an event
 * for each collection, and what is to be thought of the heap.
 *
 * Order is all: records before "n is marked" are of objects that n could have marked, those behind it are
 * not. That also holds for a call that was under way: its object is in a register of its thread, so it
 * is marked; and records that come behind are judged by n + 1. So no event comes late. What a free that was
 * recorded while the marks were read has taken away is its own: marks are applied once the ring has been
 * read up to the time of their reading.
 *
 * Where a collection was not read in time (missed) objects can look alive until their place is used again: an
 * upper bound from there on. A live object is never called dead. Nor is anything exact where the collector marks what
 * no record tells of: objects that came by other ways, or were there before; see liveness/unrecorded.
 *
 * Of a process whose collections are not seen, its counter of them is read every now and then (asked). Objects whose
 * records had been read when it was still at n are judged by any later collection's marks:
 *
 *   counter n: A is known | collection n+1 | counter n+1: read, apply: A may be dead, B came behind the last look
 */
#ifndef ALYS_LIVENESS_H
#define ALYS_LIVENESS_H

#include "catalog/catalog.h"
#include "intake/intake.h"
#include "liveness/marks.h"

struct liveness;

/* Where the heap of a process comes from. */
enum heap_origin {
	ORIGIN_BEFORE,    /* it was there before the recording */
	ORIGIN_RECORDING, /* it began in it */
	ORIGIN_PARENT,    /* a copy, made by fork in the recording */
};

struct liveness_ops {
	void *ctx;
	/* Frees and collections, to be written before the event at hand. */
	void (*event)(void *ctx, const struct event *e);
	/*
	 * What is left of objects from before the recording: type NULL begins a process anew, then come its types. -ENOMEM.
	 */
	int (*older)(void *ctx, struct proc_id proc, const char *type, uint64_t cnt, uint64_t bytes);
	enum heap_origin (*origin)(void *ctx, struct proc_id proc);
	/* "what was sampled"; NULL: every object is recorded, so what is marked can be compared with what is known. */
	const char *part;
};

struct liveness *liveness_new(struct marks *m, const struct liveness_ops *ops);
void liveness_free(struct liveness *l);

/* An event about to be written; tgid of its process. -ENOMEM when an object could not be remembered. */
int liveness_event(struct liveness *l, uint32_t tgid, const struct event *e);
/* A collection in ring order; e: proc, tid, stack and times of the collection are filled in. */
int liveness_collection(struct liveness *l, const struct intake_collection *c, const struct event *e);
/* All records sent before this time have been read. */
int liveness_read_until(struct liveness *l, uint64_t time_ns);
/*
 * The collections of this process cannot be seen: why, a sentence that names it. told: its objects are told from
 * others' in events (EVENT_F_GC), so that it can be asked. -ENOMEM.
 */
int liveness_unseen(struct liveness *l, struct proc_id proc, uint32_t tgid, const char *why, bool told);
/* To be called often: asks whom it is time to ask. no_room: collections of processes that could not be followed. */
void liveness_ask(struct liveness *l, uint64_t now_ns, uint64_t no_room);
/* The heap of this process is gone: exit, exec. */
void liveness_gone(struct liveness *l, struct proc_id proc);
/*
 * "exact", "exact for what was sampled", "upper bound (2 of 40 collections missed)", "none (why)": of no heap at all; "" when no heap was a
 * collector's. lost: records of collections that found the ring full; of the last ones nothing else would tell.
 */
void liveness_describe(struct liveness *l, uint64_t lost, char *out, size_t cap);

/* Tells of objects from before the recording, where that has changed; all: wherever, else when it is time to. */
void liveness_tell_older(struct liveness *l, uint64_t now_ns, bool all);

struct liveness_counts {
	uint64_t collections, missed, reclaimed, reclaimed_sz, reused;
	uint64_t unknown, unknown_sz;         /* marked by the last collections that were compared, and not recorded */
	uint64_t older, older_sz;             /* the same, there before the recording */
	uint64_t empty, empty_sz;             /* the same, from whenever, maybe free: they hold nothing but zeros */
	uint64_t older_empty, older_empty_sz; /* those of them that were there before the recording */
	uint64_t inherited, inherited_sz;     /* the same, of a parent's heap at fork */
	uint64_t uncompared;                  /* heaps from before the recording of which no collection was compared */
	uint64_t reached, reached_sz;         /* marked by the last collections whose marks were all read, recorded or not */
	uint64_t since;                       /* collections after those */
	uint64_t unread;                      /* heaps without such a collection */
	uint64_t longest_ns; /* of the processor, at most, for the objects of one collection, their frees written */
};

struct liveness_counts liveness_counts(const struct liveness *l);

#endif
