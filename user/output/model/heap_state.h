/* SPDX-License-Identifier: Apache-2.0 */
/* model/heap_state: what a live heap consists of; for model/live_heap, model/thinning and model/young only. */
#ifndef ALYS_MODEL_HEAP_STATE_H
#define ALYS_MODEL_HEAP_STATE_H

#include "base/map.h"
#include "model/block.h"
#include "model/clusters.h"
#include "model/heap_facts.h"
#include "model/heapfuls.h"
#include "model/lineage.h"
#include "model/model.h"
#include "model/watch.h"

/* Live blocks of one process: address -> index in heap.blocks. */
struct proc_heap {
	struct map live;
	struct lineage line;
	struct proc_windows windows[2]; /* that stand for bytes, for CPU time */
};

/* A block that was live when its process exited, with HEAP_LEFT. */
struct left_block {
	size_t place;
	uint64_t exit_ns;
};

struct heap {
	struct block *blocks;
	size_t blocks_cnt, blocks_cap;
	size_t free_head; /* index + 1 of a free block, 0 = none */
	struct left_block *left;
	size_t left_cnt, left_cap;
	struct map proc_index;
	struct proc_heap *procs;
	size_t procs_cnt, procs_cap;
	struct map row_index; /* (proc, stack); stack 0 collects the rest of a process */
	struct snapshot_row *rows;
	size_t rows_cnt, rows_cap;
	struct clusters_rows clusters;
	uint32_t rows_made;
	uint64_t *seen; /* alloc_cnt of the first rows when idle ones were last looked for */
	size_t seen_cnt;
	struct totals all;
	struct heap_facts facts;
	struct heapfuls heapfuls;
	uint64_t last_id;
	uint32_t group;         /* group of the current window's samples */
	bool unmet;             /* there may be processes that no window met */
	struct map split_index; /* row of (proc, stack) << 32 | number of the split -> row of the split */
	struct map split_ids;   /* see snapshot_row.split -> number */
	struct watch watch;
	struct heap_listener listener;
};

/* What windows sampled of this row; NULL: nothing. */
struct clusters_row *heap_clusters_of(const struct heap *h, size_t row);
/* The block at this place is free from now on. */
void heap_give_block(struct heap *h, size_t place);
/*
 * Moves blocks that were allocated at s->young_ns or later to rows of their own, which it appends; order has the heap's rows as
 * s has them. 0 or -ENOMEM.
 */
int heap_split_young(const struct heap *h, struct snapshot *s, const uint32_t *order);

#endif
