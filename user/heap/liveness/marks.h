/* SPDX-License-Identifier: Apache-2.0 */
/*
 * liveness/marks: reads the marks of each collection in time: a thread woken by the kernel when a collection is over.
 * In: processes to watch, the small ring of collections. Out: one reading per collection, or why there is none, taken
 * by the thread that finds the collection in the main ring.
 *
 *   begin n 
 *  marked n 
 *  over n ---- marks of n hold ---- begin n+1
 *                             ^ woken, reads               ^ seen by the kernel's counter: too late
 *
 * A reading is valid if no other collection had started by its end, as counted by the probe at its start.
 */
#ifndef ALYS_LIVENESS_MARKS_H
#define ALYS_LIVENESS_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "heapgraph/types.h"
#include "intake/intake.h"
#include "liveness/readings.h"
#include "marking/unknown.h"
#include "probe/probe.h"

struct marks;

/*
 * stop: stop processes at the end of each collection until it has been read. compare: marks_compare will be called.
 * Borrows the probe.
 */
struct marks *marks_new(struct probe *p, bool stop, bool compare, struct err *err);
/* Ends the thread; no process stays stopped. */
void marks_free(struct marks *m);

/* Finds the process' collector, now or when it is initialized. Idempotent. */
void marks_watch(struct marks *m, uint32_t tgid);
/* Waits briefly, until the first search for its collector is over. */
void marks_settle(struct marks *m, uint32_t tgid);
/* The process exited or executed another program, at that time (CLOCK_MONOTONIC). */
void marks_forget(struct marks *m, uint32_t tgid, uint64_t time_ns);
/* Sampled objects of all processes are dead, as far as their collections were read. Any thread. */
bool marks_none_left(struct marks *m);
/* The reading of a finished collection that nobody was woken for: of no object. NULL: out of memory. */
struct mark_reading *marks_of_none(struct marks *m, const struct intake_collection *c);
/* The reading of a finished collection; waits for it, but not for ever. NULL: there is none. Then mark_reading_free. */
struct mark_reading *marks_take(struct marks *m, uint32_t tgid, uint64_t serial);

/*
 * For a process whose collections are not observed: its counter of them, -ENOENT if its address is unknown (yet),
 * -ESRCH; and its marks as they are now, NULL if they are of two collections. Same thread as marks_forget.
 */
int marks_count(struct marks *m, uint32_t tgid, uint64_t *gc_no);
struct mark_reading *marks_read(struct marks *m, uint32_t tgid);

enum marks_state { MARKS_WAITING, MARKS_READY, MARKS_IMPOSSIBLE };

/* State of a process. */
struct marks_facts {
	enum marks_state state;
	bool incremental;  /* it marks incrementally */
	bool counted;      /* marks_count works */
	bool begun;        /* the start of a collection was seen */
	struct err failed; /* the last attempt at its heap */
};

/*
 * Compares the reading's marks (h, which were its heap) with the recorded objects of the process: as much as can be
 * read in a moment, the rest in later calls. -ENOENT if the collector's variables cannot be located, -EAGAIN if the
 * next collection started meanwhile and nothing was copied in time (what was judged applies to that one), or see
 * heapreader_compare, also for spent_ns. Same thread as marks_forget.
 */
int marks_compare(struct marks *m, const struct mark_reading *r, const struct boehm_heap *h, const struct recorded *o,
		  struct unknown *out, uint64_t *spent_ns);

/*
 * Known types of the process' objects. False: not yet, or impossible. *types is NULL if the program is not Crystal's;
 * borrowed until marks_forget. Same thread as marks_forget.
 */
bool marks_types(struct marks *m, uint32_t tgid, const struct types **types);

struct marks_facts marks_facts(struct marks *m, uint32_t tgid);

/* Time spent on readings, for the ledger. */
struct marks_cost {
	uint64_t readings, total_ns, longest_ns, late; /* late: another collection had started */
	uint64_t parts;                                /* readings limited to the blocks of sampled objects */
	uint64_t none;                                 /* collections without a sampled object: marks_of_none */
};

struct marks_cost marks_cost(struct marks *m);

#endif
