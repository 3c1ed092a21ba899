/* SPDX-License-Identifier: Apache-2.0 */
/* model/block: see block.h. */
#include "model/block.h"

#include <stdbool.h>

double block_variance(const struct block *b)
{
	double est_sz = b->weight * (double)b->size;
	return b->weight > 1 ? est_sz * (est_sz - (double)b->size) : 0;
}

/* The same for the number of blocks. */
static double spread_of(const struct block *b)
{
	return b->weight > 1 ? b->weight * (b->weight - 1) : 0;
}

/* windows: NULL if sums by window are not kept for the row. */
static void add_spread(struct totals *t, struct clusters_row *windows, enum estimate of, const struct block *b, int way)
{
	bool bytes = of == ALLOC_SZ || of == LIVE_SZ;
	double var = bytes ? block_variance(b) : spread_of(b), estimate = bytes ? b->weight * (double)b->size : b->weight;
	t->var[of] += way * var;
	if (!b->group || !windows)
		return;
	windows->of[of].sum += way * estimate;
	windows->of[of].var += way * var;
	windows->of[of].between[b->group - 1] += (float)(way * estimate);
}

void block_allocated(struct totals *t, struct clusters_row *windows, const struct block *b)
{
	t->alloc_cnt++;
	t->alloc_sz += b->size;
	t->est_alloc_cnt += b->weight;
	t->est_alloc_sz += b->weight * (double)b->size;
	add_spread(t, windows, ALLOC_CNT, b, 1);
	add_spread(t, windows, ALLOC_SZ, b, 1);
}

void block_begins(struct totals *t, struct clusters_row *windows, const struct block *b)
{
	t->live_cnt++;
	t->live_sz += b->size;
	t->est_live_cnt += b->weight;
	t->est_live_sz += b->weight * (double)b->size;
	add_spread(t, windows, LIVE_CNT, b, 1);
	add_spread(t, windows, LIVE_SZ, b, 1);
}

/* Rounding errors of many additions must not remain once no block is live. */
static void forget_live(struct totals *t, struct clusters_row *windows)
{
	t->est_live_cnt = t->est_live_sz = t->var[LIVE_CNT] = t->var[LIVE_SZ] = 0;
	if (windows)
		windows->of[LIVE_CNT] = windows->of[LIVE_SZ] = (struct clusters){ 0 };
}

void block_ends(struct totals *t, struct clusters_row *windows, const struct block *b)
{
	t->live_cnt--;
	t->live_sz -= b->size;
	t->est_live_cnt -= b->weight;
	t->est_live_sz -= b->weight * (double)b->size;
	add_spread(t, windows, LIVE_CNT, b, -1);
	add_spread(t, windows, LIVE_SZ, b, -1);
	if (!t->live_cnt)
		forget_live(t, windows);
}
