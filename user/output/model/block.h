/* SPDX-License-Identifier: Apache-2.0 */
/* model/block: a live block, and what it is in the sums. Not for other modules. */
#ifndef ALYS_MODEL_BLOCK_H
#define ALYS_MODEL_BLOCK_H

#include "model/model.h"

/* One live block. Kept small: a big server has tens of millions. */
struct block {
	uint64_t id; /* in the free list: place of the next free block + 1 */
	uint64_t size;
	uint64_t time_ns : 59;
	uint64_t group : 5; /* of the window that it was sampled in, from 1; 0 = none */
	double weight;      /* what was added to est_live, so that the same is taken off */
	uint32_t row;
	uint32_t tag; /* the listener's */
};

/* What it adds to the variance of a sum of bytes: see struct spread. */
double block_variance(const struct block *b);
/* `windows`: by the windows' groups, too; NULL = they are not kept. */
void block_allocated(struct totals *t, struct clusters_row *windows, const struct block *b);
void block_begins(struct totals *t, struct clusters_row *windows, const struct block *b);
void block_ends(struct totals *t, struct clusters_row *windows, const struct block *b);

#endif
