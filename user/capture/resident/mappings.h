/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resident/mappings: the address space that processes have now, by who mapped it. The kernel tells of each call that maps,
 * moves or unmaps a range; a heap frees by address. So a range that goes becomes a free for each mapping that lies in it,
 * and what is left of one is a block again (EVENT_F_CARRIED). What was mapped before is known, too, but makes no events.
 */
#ifndef ALYS_RESIDENT_MAPPINGS_H
#define ALYS_RESIDENT_MAPPINGS_H

#include <stdint.h>

#include "event/event.h"
#include "resident/resident.h"

struct mappings {
	void *ctx;
	void (*event)(void *ctx, const struct event *e);
	void *tree;       /* disjoint ranges, by process and address (tsearch) */
	uint64_t total;   /* when settled: bytes that the processes have mapped which still run */
	uint64_t older;   /* of these, what was there before, or when a program started */
	uint64_t unheard; /* of these, what no recorded call mapped: a stack that grew, shmat */
	uint64_t swept;   /* bytes that had gone unheard */
};

/* All: 0 or -ENOMEM. */

/* Once calls are recorded, or by exec: what the process has already. Calls in between are both in that and heard of, which does no harm. */
int mappings_begin(struct mappings *m, struct proc_id proc, uint32_t tgid);
int mappings_come(struct mappings *m, const struct event *alloc);
/* Only what was there at why->enter_ns. */
int mappings_gone(struct mappings *m, const struct resident_range *why);
int mappings_moved(struct mappings *m, const struct resident_range *from, uint64_t to);
/* A child has the same, and its heap a copy. */
int mappings_fork(struct mappings *m, struct proc_id parent, struct proc_id child);
/* Compares with what the kernel says at the end of the recording, and now and then before; sums are since _begin_settling. */
void mappings_begin_settling(struct mappings *m);
int mappings_settle(struct mappings *m, struct proc_id proc, uint32_t tgid, uint64_t now_ns);
/* The process has ended or become another program: its heap ends as a whole. */
void mappings_forget(struct mappings *m, struct proc_id proc);
void mappings_free(struct mappings *m);

#endif
