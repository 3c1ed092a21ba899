/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model/lineage: what a forked process has of its parent's heap. A child begins with all of its parent's blocks, and
 * nobody copies them: asked whether an address was a block at the fork, the parent's heap answers, with what it
 * has let go of since. That is kept only while a child lives that may ask, an address once.
 *
 *   parent  1: 0x1000 since 3     fork at 5     free 0x1000 at 7 -> gone
 *   child                         asks for 0x1000: gone at 7, so it was there at 5
 */
#ifndef ALYS_MODEL_LINEAGE_H
#define ALYS_MODEL_LINEAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/map.h"

struct lineage {
	size_t parent;         /* its place + 1, 0 = none that is known */
	uint64_t forked_ns;    /* from it */
	uint64_t last_fork_ns; /* of a child's */
	uint32_t children;     /* that may ask */
	bool over;             /* it has ended, or is another program now */
	struct map gone;       /* its own blocks that a child may have: address -> when they went */
	struct map let_go;     /* its parent's blocks that it freed: address -> when */
};

void lineage_free(struct lineage *l);
void lineage_begin(struct lineage *child, size_t parent_place, struct lineage *parent, uint64_t now);
/* A block of its own goes. Without memory a child's free of it is of an unknown block. */
void lineage_gone(struct lineage *l, uint64_t addr, uint64_t born_ns, uint64_t now);
/* It asks no more, and nobody asks through it. */
void lineage_end(struct lineage *l, struct lineage *parent);

#endif
