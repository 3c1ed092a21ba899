/* SPDX-License-Identifier: Apache-2.0 */
/*
 * monitor/heaps: one heap per process (and subject) of an endless recording, so that it can be dropped with the process. In:
 * events. Out: snapshots of one process or of all, from the beginning or from a mark. Knows no files and no probes.
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
	uint8_t subject; /* of struct proc */
	struct heap *heap;
	uint64_t events;
	uint64_t begun_ns;           /* first event */
	double rate;                 /* bytes allocated per second, over the last interval of the history */
	double rate_base;            /* allocated then */
	double history[HISTORY_CNT]; /* live bytes, oldest first */
	uint64_t resident;           /* RSS of the process at the newest point of the history; 0 = unknown */
	size_t history_cnt;
};

struct heaps {
	struct heap_of **at;
	size_t at_cnt, at_cap;
	struct map index;               /* proc -> index in at */
	struct catalog *const *catalog; /* of the processes; NULL: all heaps are of the first subject */
	uint64_t events, thinned, seed;
	uint64_t sampled_ns; /* time of the last history points */
};

void heaps_free(struct heaps *h);
/* The heap of a process, created if new; NULL when out of memory. */
struct heap_of *heaps_put(struct heaps *h, struct proc_id proc);
struct heap_of *heaps_get(const struct heaps *h, struct proc_id proc);
/* Events of blocks, and losses, which concern every heap. 0 or -ENOMEM. */
int heaps_apply(struct heaps *h, const struct event *e);
void heaps_drop(struct heaps *h, struct proc_id proc);
void heaps_thin(struct heaps *h);
/* heap_forget_idle, for all processes. */
long heaps_forget_idle(struct heaps *h);
bool heaps_know(const struct heaps *h, struct proc_id proc, struct stack_id stack);
/* Adds a point to each history and updates rates; seconds since the last one. */
void heaps_note(struct heaps *h, double seconds);

/* The allocations by stack up to a moment. */
struct heap_mark;

/* proc 0: all processes, first subject. NULL when out of memory or if there is no such heap. Owned by the caller. */
struct heap_mark *heaps_mark(const struct heaps *h, struct proc_id proc);
/* Of all processes. */
struct heap_mark *heaps_mark_all(const struct heaps *h, uint8_t subject);
void heap_mark_free(struct heap_mark *m);
uint64_t heap_mark_time(const struct heap_mark *m);
/* False also after an exec, or when tracing was restarted: it does not apply to this process then. */
bool heap_mark_is_of(const struct heap_mark *m, struct proc_id proc);
/* The process' ledger at that moment; zeros until set. */
void heap_mark_note(struct heap_mark *m, const struct account *a);
const struct account *heap_mark_account(const struct heap_mark *m);
/*
 * proc 0: all processes, first subject. With a mark, allocations count from there; live blocks are current. rows_max: keeps the
 * largest rows and merges the others into one per process, without a stack; 0 = no limit.
 */
struct snapshot *heaps_snapshot(const struct heaps *h, struct proc_id proc, const struct heap_mark *since, size_t rows_max);
struct snapshot *heaps_snapshot_all(const struct heaps *h, uint8_t subject, const struct heap_mark *since, size_t rows_max);

#endif
