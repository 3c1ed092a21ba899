/* SPDX-License-Identifier: Apache-2.0 */
/*
 * liveness/object_log: sampled objects of collected heaps that may live, by process, for the thread that reads marks. It cannot
 * wait for the main ring: a collection's marks are gone when the next one begins. In: what the programs note of each
 * sampled object before they send its record. Out: the addresses that a reading has to tell of. One thread.
 *
 * An object leaves when a reading of a collection that began after it was allocated finds it dead. One that is left too long costs
 * a block's reading; one that left too soon would be alive for ever, as a reading does not cover it.
 */
#ifndef ALYS_LIVENESS_OBJECT_LOG_H
#define ALYS_LIVENESS_OBJECT_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "boehm/heap.h"
#include "probe/probe.h"

struct object_log {
	uint64_t at;           /* in the programs' notes */
	size_t count;          /* objects of all processes */
	struct map by_process; /* tgid -> struct logged_objects * */
	bool lost;             /* there are others: nothing can be said any more */
};

/* Takes what was noted since. Without memory, or when more was noted than is kept, the objects are lost. */
void object_log_read(struct object_log *b, const struct probe *p);
void object_log_add(struct object_log *b, uint32_t tgid, uint64_t addr, uint64_t time_ns);
/* Addresses of one process, ascending, for boehm_heap_read_some; free them. NULL: objects are lost. */
uint64_t *object_log_of(struct object_log *b, uint32_t tgid, size_t *cnt);
/* Drops what a good reading h of a collection that began at begun_ns (CLOCK_MONOTONIC) shows to be dead. */
void object_log_judge(struct object_log *b, uint32_t tgid, const struct boehm_heap *h, uint64_t begun_ns);
/* The process has ended, or begun another program, at that time. */
void object_log_forget(struct object_log *b, uint32_t tgid, uint64_t time_ns);
/*
 * Drops objects that nobody will ask for: of processes that `wanted` does not name and that have
 * ended, or were not named for half a minute. To be called every OBJECT_LOG_SWEEP_NS.
 */
#define OBJECT_LOG_SWEEP_NS 5000000000ull
void object_log_sweep(struct object_log *b, bool (*wanted)(void *ctx, uint32_t tgid), void *ctx, uint64_t now_ns);
void object_log_free(struct object_log *b);

#endif
