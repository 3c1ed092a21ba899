/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapview/threads: the stacks of a process' threads, running or stopped: through access/rights, see access/thread_stacks.
 */
#ifndef ALYS_HEAPVIEW_THREADS_H
#define ALYS_HEAPVIEW_THREADS_H

#include "access/thread_stacks.h"
#include "base/err.h"
#include "marking/roots.h"
#include "marking/unknown.h"

#define FREEZE_MAX_NS THREAD_STACKS_STOP_NS

struct threads {
	struct root_thread *list;
	size_t list_cnt, list_cap;
	/* While frozen: */
	bool frozen;
	uint64_t since_ns;
};

/* Inspects all threads of a running process; sp of those that were on a CPU is 0. -ESRCH, -ENOMEM. */
int threads_look(struct threads *t, uint32_t tgid, struct err *err);
/* Stops all threads. On failure none stays stopped. -ESRCH, -EPERM (traced by another process), -ETIMEDOUT. */
int threads_freeze(struct threads *t, uint32_t tgid, struct err *err);
/* Time by which all must be resumed; 0 if not stopped. */
uint64_t threads_deadline(const struct threads *t);
/* Resumes them; returns how long they were stopped, in ns. Does nothing if they are not. */
uint64_t threads_thaw(struct threads *t);
/*
 * Finds the collector's own threads, by name (GC-marker-0, ...) and by the handles that it keeps; for running ones by
 * name. Unnamed ones count as the program's.
 */
void threads_flag_markers(struct threads *t, struct memory *m, const struct space *space, const struct own_places *own);
/* Resumes them, too. */
void threads_free(struct threads *t);

#endif
