/* SPDX-License-Identifier: Apache-2.0 */
/* model/block: a live block, and its contribution to the sums. Private to this module. */
#ifndef ALYS_MODEL_BLOCK_H
#define ALYS_MODEL_BLOCK_H

#include "model/model.h"

/* One live block. Kept small: a big server has tens of millions. */
struct block {
	uint64_t id; /* in the free list: index of the next free block + 1 */
	uint64_t size;
	uint64_t time_ns : 59;
	uint64_t group : 5; /* group of the window in which it was sampled, from 1; 0 = none */
	double weight;      /* as added to est_live, so that the same is subtracted */
	uint32_t row;
	uint32_t tag; /* set by the listener */
};

/* Its contribution to the variance of a sum of bytes: see struct spread. */
double block_variance(const struct block *b);
/* `windows`: per group of windows, too; NULL = not kept. */
void block_allocated(struct totals *t, struct clusters_row *windows, const struct block *b);
void block_begins(struct totals *t, struct clusters_row *windows, const struct block *b);
void block_ends(struct totals *t, struct clusters_row *windows, const struct block *b);

#endif
