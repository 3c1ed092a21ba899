/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapview/threads: where the stacks of a process' threads are, with the process running or standing
 * still: asked for by access/rights, see access/standstill.
 */
#ifndef ALYS_HEAPVIEW_THREADS_H
#define ALYS_HEAPVIEW_THREADS_H

#include "access/standstill.h"
#include "base/err.h"
#include "marking/roots.h"
#include "marking/unknown.h"

#define FREEZE_MAX_NS STANDSTILL_MAX_NS

struct threads {
	struct root_thread *list;
	size_t list_cnt, list_cap;
	/* While frozen: */
	bool frozen;
	uint64_t since_ns;
};

/* Looks at all threads of a running process; sp of those that were on a processor is 0. -ESRCH, -ENOMEM. */
int threads_look(struct threads *t, uint32_t tgid, struct err *err);
/* Stops all of them. On failure none is left stopped. -ESRCH, -EPERM (someone else traces it), -ETIMEDOUT. */
int threads_freeze(struct threads *t, uint32_t tgid, struct err *err);
/* Time by which all must have been thawed again; 0 when not frozen. */
uint64_t threads_deadline(const struct threads *t);
/* Lets them go on; how long they stood still, in ns. Nothing when not frozen. */
uint64_t threads_thaw(struct threads *t);
/*
 * Which of them are the collector's own, by name (GC-marker-0, ...) and by the handle that it keeps of each; of those that
 * run just then, by name. What a collector has that does not name them counts as the program's.
 */
void threads_tell_markers(struct threads *t, struct memory *m, const struct space *space, const struct own_places *own);
/* Thaws as well. */
void threads_free(struct threads *t);

#endif
