/* SPDX-License-Identifier: Apache-2.0 */
/*
 * liveness/marks: reads the marks of each collection in time: a thread of its own, which the kernel
 * wakes when one is over. In: processes to watch, the small ring of collections. Out: one reading a
 * collection, or why there is none, taken by the thread that meets the collection in the main ring.
 *
 *   begin n | marked n | over n ---- marks of n hold ---- begin n+1
 *                             ^ woken, reads               ^ seen by the kernel's counter: too late
 *
 * A reading counts when no other collection had begun by its end, as the probe at its begin counts them.
 */
#ifndef ALYS_LIVENESS_MARKS_H
#define ALYS_LIVENESS_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "heapgraph/types.h"
#include "marking/heap_copy.h"
#include "marking/unknown.h"
#include "probe/probe.h"

struct marks;

struct mark_reading {
	uint32_t tgid, gc_no;
	uint64_t serial;   /* of the collection, as in its records */
	uint64_t until_ns; /* end of the reading */
	bool good;         /* heap holds the marks of this collection, all of them or those of sampled objects */
	struct boehm_heap heap;
	struct heap_copy *copy; /* what its objects held then, NULL = not copied */
};

/*
 * stop: processes are stopped at the end of each collection until it is read. compare: marks_compare will be called.
 * Borrows the probe.
 */
struct marks *marks_new(struct probe *p, bool stop, bool compare, struct err *err);
/* Ends the thread; nothing stays stopped. */
void marks_free(struct marks *m);

/* Finds the process' collector, now or when it has started. More than once is fine. */
void marks_watch(struct marks *m, uint32_t tgid);
/* Waits a moment, until the first search for its collector is over. */
void marks_settle(struct marks *m, uint32_t tgid);
/* The process ended or became another program. */
void marks_forget(struct marks *m, uint32_t tgid);
/*
 * The reading of a collection that is over; waits for it, but not for ever. NULL: there is none. Then
 * mark_reading_free.
 */
struct mark_reading *marks_take(struct marks *m, uint32_t tgid, uint64_t serial);
void mark_reading_free(struct mark_reading *r);

/*
 * For a process whose collections nothing tells of: its counter of them, -ENOENT when where it is is not known (yet),
 * -ESRCH; and its marks as they are now, NULL when they are of two collections. By the thread that calls
 * marks_forget.
 */
int marks_count(struct marks *m, uint32_t tgid, uint64_t *gc_no);
struct mark_reading *marks_read(struct marks *m, uint32_t tgid);

enum marks_state { MARKS_WAITING, MARKS_READY, MARKS_IMPOSSIBLE };

/* How it stands with a process. */
struct marks_facts {
	enum marks_state state;
	bool incremental; /* its marks come in steps */
	bool counted;     /* marks_count works */
	bool begun;       /* a collection of it was seen to begin */
	char why[400];    /* a sentence */
};

/*
 * What the reading's marks (h, which were its heap) and the recorded objects of the process do not agree about: as much of it as
 * can be read in a moment, the rest when it is called again. -ENOENT when where its collector keeps its variables is not known,
 * -EAGAIN when the next collection began meanwhile and nothing was copied in time (what was judged holds for that one), or as
 * unknown_find; by the thread that calls marks_forget.
 */
int marks_compare(struct marks *m, const struct mark_reading *r, const struct boehm_heap *h, const struct recorded *o,
		  struct unknown *out);

/*
 * What is known of the types of the process' objects. False: not yet, or nothing can be. *types is NULL when they have none, for the
 * program is not Crystal's; borrowed until the process is forgotten, by the thread that calls marks_forget.
 */
bool marks_types(struct marks *m, uint32_t tgid, const struct types **types);

struct marks_facts marks_facts(struct marks *m, uint32_t tgid);

/* Times that readings took, for the ledger. */
struct marks_cost {
	uint64_t readings, total_ns, longest_ns, late; /* late: another collection had begun */
	uint64_t parts;                                /* readings of the blocks of sampled objects alone */
};

struct marks_cost marks_cost(struct marks *m);

#endif
