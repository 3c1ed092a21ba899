/* SPDX-License-Identifier: Apache-2.0 */
/*
 * monitor/heaps: one heap for each process of a recording that goes on and on, so that what a process
 * leaves behind can be thrown away with it. In: events. Out: snapshots of one process or of all,
 * counted from the beginning or from a mark. Knows no files and no probes.
 */
#ifndef ALYS_MONITOR_HEAPS_H
#define ALYS_MONITOR_HEAPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "model/model.h"
#include "recorder/account.h"
#include "recorder/ending.h"

#define HISTORY_CNT 60

struct heap_of {
	struct proc_id proc;
	struct heap *heap;
	uint64_t events;
	uint64_t begun_ns;           /* first event */
	double rate;                 /* bytes allocated a second, over the last interval of the history */
	double rate_base;            /* allocated then */
	double history[HISTORY_CNT]; /* live bytes, oldest first */
	uint64_t resident;           /* bytes of the process in memory, as of the newest point of the history; 0 = not known */
	size_t history_cnt;
};

struct heaps {
	struct heap_of **at;
	size_t at_cnt, at_cap;
	struct map index; /* proc -> place in at */
	uint64_t events, thinned, seed;
	uint64_t sampled_ns; /* when the histories were written last */
};

void heaps_free(struct heaps *h);
/* The heap of a process, made when new; NULL when memory is out. */
struct heap_of *heaps_put(struct heaps *h, struct proc_id proc);
struct heap_of *heaps_get(const struct heaps *h, struct proc_id proc);
/* Events of blocks, and losses, which concern every heap. 0 or -ENOMEM. */
int heaps_apply(struct heaps *h, const struct event *e);
void heaps_drop(struct heaps *h, struct proc_id proc);
void heaps_thin(struct heaps *h);
/* As heap_forget_idle, of all processes. */
long heaps_forget_idle(struct heaps *h);
bool heaps_know(const struct heaps *h, struct proc_id proc, struct stack_id stack);
/* One more point of each history, and the rates; seconds since the last one. */
void heaps_note(struct heaps *h, double seconds);

/* The allocations of stacks up to a moment. */
struct heap_mark;

/* proc 0: of all processes. NULL when memory is out or there is no such heap. Caller owns. */
struct heap_mark *heaps_mark(const struct heaps *h, struct proc_id proc);
void heap_mark_free(struct heap_mark *m);
uint64_t heap_mark_time(const struct heap_mark *m);
/* False also after an exec, or when tracing began anew: then it says nothing of this process. */
bool heap_mark_is_of(const struct heap_mark *m, struct proc_id proc);
/* The process' account up to then; zeros until it is noted. */
void heap_mark_note(struct heap_mark *m, const struct account *a);
const struct account *heap_mark_account(const struct heap_mark *m);
/*
 * proc 0: all processes together. With a mark, allocations count from there, and what lives is as it is.
 * rows_max: the largest rows are kept, and the others put into one of each process, without a stack; 0 = no limit.
 */
struct snapshot *heaps_snapshot(const struct heaps *h, struct proc_id proc, const struct heap_mark *since, size_t rows_max);

#endif
