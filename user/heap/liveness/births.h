/*
 * liveness/births: sampled objects of collected heaps that may live, by process, for the thread that reads marks. It cannot
 * wait for the main ring: a collection's marks are gone when the next one begins. In: what the programs note of each
 * sampled object before they send its record. Out: the addresses that a reading has to tell of. One thread.
 *
 * An object leaves when a reading of a collection that began after its birth finds it dead. One that is left too long costs
 * a block's reading; one that left too soon would be alive for ever, as a reading does not cover it.
 */
#ifndef ALYS_LIVENESS_BIRTHS_H
#define ALYS_LIVENESS_BIRTHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "boehm/heap.h"
#include "probe/probe.h"

struct births {
	uint64_t at;           /* in the programs' notes */
	size_t count;          /* objects of all processes */
	struct map by_process; /* tgid -> struct birth_list * */
	bool lost;             /* there are others: nothing can be said any more */
};

/* Takes what was noted since. Without memory, or when more was noted than is kept, the births are lost. */
void births_read(struct births *b, const struct probe *p);
void births_add(struct births *b, uint32_t tgid, uint64_t addr, uint64_t time_ns);
/* Addresses of one process, ascending, for boehm_heap_read_some; free them. NULL: births are lost. */
uint64_t *births_of(struct births *b, uint32_t tgid, size_t *cnt);
/* Drops what a good reading h of a collection that began at begun_ns (CLOCK_MONOTONIC) shows to be dead. */
void births_judge(struct births *b, uint32_t tgid, const struct boehm_heap *h, uint64_t begun_ns);
/* The process has ended, or begun another program, at that time. */
void births_forget(struct births *b, uint32_t tgid, uint64_t time_ns);
/*
 * Drops births that nobody will ask for: of processes that `wanted` does not name and that have
 * ended, or were not named for half a minute. To be called every BIRTHS_SWEEP_NS.
 */
#define BIRTHS_SWEEP_NS 5000000000ull
void births_sweep(struct births *b, bool (*wanted)(void *ctx, uint32_t tgid), void *ctx,
		  uint64_t now_ns);
void births_free(struct births *b);

#endif
