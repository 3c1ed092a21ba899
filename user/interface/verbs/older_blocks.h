/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verbs/older_blocks: a recording that begins with a census (`record --census`): blocks of glibc's malloc that are older than
 * the recording come as events (EVENT_F_CARRIED), so that their frees are those of known blocks.
 *
 * Probes come first, the census second. A block of the census is older if no event has named its address between the first
 * probe and its own event: else its birth was recorded, or it is gone.
 */
#ifndef ALYS_VERBS_OLDER_BLOCKS_H
#define ALYS_VERBS_OLDER_BLOCKS_H

#include "base/map.h"
#include "catalog/consumer.h"
#include "mallocview/malloc_blocks.h"
#include "recorder/live.h"

enum older_state {
	OLDER_WAITS,   /* the probes are not in yet */
	OLDER_READS,   /* the heap is being read */
	OLDER_CATCHES, /* it was read, and the records sent until then are awaited */
	OLDER_WRITES,
	OLDER_OVER,
};

struct older_blocks {
	const struct consumer *to;
	struct consumer out; /* stands before `to` */
	struct live *live;
	struct malloc_blocks blocks;
	enum older_state state;
	struct proc_id proc;
	struct map named;        /* addresses of events */
	struct stack_id *stacks; /* of each class, 0 = not yet */
	size_t next;             /* block to be written */
	uint64_t written, bytes; /* written as events */
	uint64_t named_first;    /* blocks of the census that are not older */
};

/* In front of l->h.out, which is kept; l's options name one process. */
void older_blocks_begin(struct older_blocks *o, struct live *l);
void older_blocks_free(struct older_blocks *o);

#endif
