/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model/lineage: which of its parent's blocks a forked process has. A child starts with a copy of all of them, but
 * nothing is copied here: when an address is looked up, the parent's heap answers for the time of the fork, using a log
 * of blocks freed since. The log is kept only while a child may ask; each address is asked once.
 *
 *   parent  1: 0x1000 since 3     fork at 5     free 0x1000 at 7 -> freed_log
 *   child                         asks for 0x1000: gone at 7, so it was there at 5
 */
#ifndef ALYS_MODEL_LINEAGE_H
#define ALYS_MODEL_LINEAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/map.h"

struct lineage {
	size_t parent;              /* index + 1, 0 = unknown */
	uint64_t forked_ns;         /* from it */
	uint64_t last_fork_ns;      /* of a child's */
	uint32_t children;          /* that may ask */
	bool over;                  /* it has exited or executed another program */
	struct map freed_log;       /* its own blocks that a child may have: address -> time of free */
	struct map freed_inherited; /* its parent's blocks that it freed: address -> time */
};

void lineage_free(struct lineage *l);
void lineage_begin(struct lineage *child, size_t parent_place, struct lineage *parent, uint64_t now);
/* One of its own blocks is freed. Out of memory: a child's free of it becomes a free of an unknown block. */
void lineage_gone(struct lineage *l, uint64_t addr, uint64_t allocated_ns, uint64_t now);
/* It asks no more, and nobody asks through it. */
void lineage_end(struct lineage *l, struct lineage *parent);

#endif
