/* SPDX-License-Identifier: Apache-2.0 */
/* model/block: see block.h. */
#include "model/block.h"

double block_variance(const struct block *b)
{
	double est_sz = b->weight * (double)b->size;
	return b->weight > 1 ? est_sz * (est_sz - (double)b->size) : 0;
}

/* The same of their number. */
static double spread_of(const struct block *b)
{
	return b->weight > 1 ? b->weight * (b->weight - 1) : 0;
}

/* The block comes (1) or goes (-1). */
static void add_spread(struct spread *s, const struct block *b, double var, double estimate, int way)
{
	s->var += way * var;
	if (!b->group)
		return;
	s->windowed += way * var;
	s->between[b->group - 1] += (float)(way * estimate);
}

void block_allocated(struct totals *t, const struct block *b)
{
	double sz = b->weight * (double)b->size;
	t->alloc_cnt++;
	t->alloc_sz += b->size;
	t->est_alloc_cnt += b->weight;
	t->est_alloc_sz += sz;
	add_spread(&t->alloc_cnt_off, b, spread_of(b), b->weight, 1);
	add_spread(&t->alloc_sz_off, b, block_variance(b), sz, 1);
}

void block_begins(struct totals *t, const struct block *b)
{
	double sz = b->weight * (double)b->size;
	t->live_cnt++;
	t->live_sz += b->size;
	t->est_live_cnt += b->weight;
	t->est_live_sz += sz;
	add_spread(&t->live_cnt_off, b, spread_of(b), b->weight, 1);
	add_spread(&t->live_sz_off, b, block_variance(b), sz, 1);
}

void block_ends(struct totals *t, const struct block *b)
{
	double sz = b->weight * (double)b->size;
	t->live_cnt--;
	t->live_sz -= b->size;
	t->est_live_cnt -= b->weight;
	t->est_live_sz -= sz;
	add_spread(&t->live_cnt_off, b, spread_of(b), b->weight, -1);
	add_spread(&t->live_sz_off, b, block_variance(b), sz, -1);
	/* Rounding of many additions must not outlive the last block. */
	if (t->live_cnt)
		return;
	t->est_live_cnt = t->est_live_sz = 0;
	t->live_cnt_off = t->live_sz_off = (struct spread){ 0 };
}
