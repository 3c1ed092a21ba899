/* SPDX-License-Identifier: Apache-2.0 */
/*
 * liveness/object_log: sampled objects of collected heaps that may be live, by process, for the mark reader. It cannot
 * wait for the main ring: a collection's marks are gone when the next one starts. In: what BPF logs about each sampled
 * object before it sends the record. Out: the addresses that a reading must cover. Single-threaded.
 *
 * An object is dropped when a reading of a collection that started after its allocation finds it dead. Dropping it too
 * late costs reading a block; dropping it too early would keep it live for ever, since no reading covers it.
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
	uint64_t at;           /* position in the log */
	size_t count;          /* objects of all processes */
	struct map by_process; /* tgid -> struct logged_objects * */
	bool lost;             /* entries were missed: the log is unusable */
};

/* Takes new entries. Out of memory, or if entries were overwritten, all objects are lost. */
void object_log_read(struct object_log *b, const struct probe *p);
void object_log_add(struct object_log *b, uint32_t tgid, uint64_t addr, uint64_t time_ns);
/* Addresses of one process, ascending, for boehm_heap_read_marks; free them. NULL: objects were lost. */
uint64_t *object_log_of(struct object_log *b, uint32_t tgid, size_t *cnt);
/* Has the process no such objects? False if objects were lost. */
bool object_log_is_empty(const struct object_log *b, uint32_t tgid);
/* Drops what a valid reading h of a collection that started at begun_ns (CLOCK_MONOTONIC) shows to be dead. */
void object_log_judge(struct object_log *b, uint32_t tgid, const struct boehm_heap *h, uint64_t begun_ns);
/* The process exited, or executed another program, at that time. */
void object_log_forget(struct object_log *b, uint32_t tgid, uint64_t time_ns);
/*
 * Drops objects that are not needed: of processes not in `wanted` that have ended, or were not in it for half a minute.
 * Call every OBJECT_LOG_SWEEP_NS.
 */
#define OBJECT_LOG_SWEEP_NS 5000000000ull
void object_log_sweep(struct object_log *b, bool (*wanted)(void *ctx, uint32_t tgid), void *ctx, uint64_t now_ns);
void object_log_free(struct object_log *b);

#endif
