/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapview/blocks: blocks that are live at the end of a trace, and where they were allocated. In: a .alys file. Out:
 * address -> stack and size, with the trace's catalog for names.
 */
#ifndef ALYS_HEAPVIEW_BLOCKS_H
#define ALYS_HEAPVIEW_BLOCKS_H

#include "base/map.h"
#include "replay/replay.h"

struct block {
	struct stack_id stack;
	uint64_t addr, size; /* size 0: freed */
};

struct blocks {
	struct replay replay;
	struct block *all;
	size_t all_cnt, all_cap;
	struct map by_addr; /* index in all */
};

/* Blocks of process tgid. -ENOENT: the trace has no such process; else see replay_open. */
int blocks_read(struct blocks *b, const char *path, uint32_t tgid, struct err *err);
const struct block *blocks_at(const struct blocks *b, uint64_t addr); /* NULL: unknown or freed */
void blocks_free(struct blocks *b);

#endif
