/*
 * model: replays events into live heaps and per-stack totals. Knows no files, names, clocks or
 * output. One thread. Never fails on strange input: an unknown free or a double allocation is a
 * counted fact. Memory grows with live blocks and distinct stacks, not with events.
 *
 *   proc 7 | 0x1000 -> {id 1, 64 bytes, stack 3}      stack 3 | allocated 2 / 96 B, live 1 / 64 B
 *          | 0x1040 -> {id 2, 32 bytes, stack 3} X freed
 */
#ifndef ALYS_MODEL_H
#define ALYS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

struct heap;

/* What an event did, for sinks that print events. */
struct applied {
	uint64_t id;        /* the allocation's; a realloc keeps the id of the block that went in; 0 = block never seen */
	uint64_t prev_addr; /* realloc, free: the block as it was; 0 when not known */
	uint64_t prev_size;
	double weight; /* allocations this event stands for; 1 when not sampled */
};

/* Sums are of the real events; est_* are scaled to the whole when sampled, equal when not. */
struct totals {
	uint64_t alloc_cnt, alloc_sz; /* realloc counts as an allocation of its new size */
	uint64_t live_cnt, live_sz;
	double est_alloc_cnt, est_alloc_sz;
	double est_live_cnt, est_live_sz;
};

struct snapshot_row {
	struct stack_id stack;
	struct proc_id proc;
	struct totals t;
};

/* Counted facts about the input. */
struct heap_facts {
	uint64_t events;       /* allocs + reallocs + frees applied */
	uint64_t unknown_free; /* of blocks that were there before the recording, or whose allocation was lost */
	uint64_t replaced;     /* allocation at an address that was live: its free was missed */
	uint64_t stale_free;   /* free older than the live block at that address: ignored */
	uint64_t ended_live;   /* blocks alive when their process exited or changed its program */
	uint64_t lost_frees;   /* when not 0, in-use is an upper bound */
	uint64_t lost_allocs;
	uint64_t first_ns, last_ns;
	bool sampled;
};

/* Immutable; rows sorted by stack id. Caller owns, snapshot_free. */
struct snapshot {
	size_t n;
	struct snapshot_row *rows;
	struct totals all;
	struct heap_facts facts;
};

struct heap *heap_new(void);
void heap_free(struct heap *h);
/* 0 or -ENOMEM. out may be NULL. */
int heap_apply(struct heap *h, const struct event *e, struct applied *out);
struct snapshot *heap_snapshot(const struct heap *h); /* NULL when memory is out */
void snapshot_free(struct snapshot *s);

/*
 * Allocations of this size that one sample stands for: 1 / (1 - exp(-size / interval)), the inverse
 * of the chance that a Poisson process of one point per `interval` bytes hits the block.
 */
double sample_weight(uint64_t size, uint64_t interval);

#endif
