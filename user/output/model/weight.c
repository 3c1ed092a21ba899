/* SPDX-License-Identifier: Apache-2.0 */
/* model/weight: weight of a sample, its sampling interval, and their sums; see model.h. */
#include <math.h>

#include "model/model.h"
#include "model/rules.h"

double sample_weight(uint64_t size, uint64_t interval)
{
	if (!interval)
		return 1;
	/* A block of 0 bytes is never sampled by bytes; where it is recorded all the same, it counts as 1 byte. */
	double bytes = size ? (double)size : 1;
	return -1 / expm1(-bytes / (double)interval);
}

uint64_t sample_interval(uint64_t size, double weight)
{
	return weight > 1 ? (uint64_t)(-(double)(size ? size : 1) / log1p(-1 / weight) + 0.5) : 0;
}

double event_weight(const struct event *e)
{
	return (e->batch ? e->batch : 1) * sample_weight(e->span ? e->span : e->size, e->interval);
}

double unsampled_below(uint64_t interval)
{
	return -log(0.05) * (double)interval;
}

void totals_add(struct totals *sum, const struct totals *t)
{
	sum->alloc_cnt += t->alloc_cnt;
	sum->alloc_sz += t->alloc_sz;
	sum->live_cnt += t->live_cnt;
	sum->live_sz += t->live_sz;
	sum->est_alloc_cnt += t->est_alloc_cnt;
	sum->est_alloc_sz += t->est_alloc_sz;
	sum->est_live_cnt += t->est_live_cnt;
	sum->est_live_sz += t->est_live_sz;
	sum->placed += t->placed;
	for (int i = 0; i < ESTIMATES; i++)
		sum->var[i] += t->var[i];
}

double totals_estimate(const struct totals *t, enum estimate of)
{
	switch (of) {
	case ALLOC_CNT: return t->est_alloc_cnt;
	case LIVE_CNT: return t->est_live_cnt;
	case ALLOC_SZ: return t->est_alloc_sz;
	default: return t->est_live_sz;
	}
}

double totals_var(const struct totals *t, enum estimate of)
{
	return few_variance(t->var[of], totals_estimate(t, of));
}
