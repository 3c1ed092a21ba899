/* SPDX-License-Identifier: Apache-2.0 */
/* report/rank: see rank.h. */
#include "report/rank.h"

#include <stdlib.h>
#include <string.h>

size_t rank_limit(const struct report_options *o)
{
	if (o->top == REPORT_TOP_STANDARD)
		return o->format == FORMAT_TEXT ? TEXT_ROWS : SIZE_MAX;
	return o->top ? (size_t)o->top : SIZE_MAX;
}

static int descending(double a, double b)
{
	return (a < b) - (a > b);
}

static enum report_sort sort_of(const struct groups *g)
{
	if (g->o->sort != SORT_STANDARD)
		return g->o->sort;
	if (g->show == SHOW_LEAKED)
		return SORT_GROWTH;
	return g->o->type ? SORT_COUNT : SORT_SIZE;
}

/* What a row counts: calls where those were counted, else allocations. */
static double count_of(const struct groups *g, const struct group *v)
{
	return g->counts_calls && v->has_calls ? v->calls : v->cnt;
}

static int compare(const void *a, const void *b, void *ctx)
{
	const struct groups *g = ctx;
	const struct group *x = a, *y = b;
	enum report_sort sort = sort_of(g);
	int by_name = strverscmp(names_at(&g->labels, x->label), names_at(&g->labels, y->label));
	int diff = 0;
	if (sort == SORT_NAME)
		return by_name;
	if (sort == SORT_GROWTH)
		diff = descending(growth_row_score(&g->growth[x->label]), growth_row_score(&g->growth[y->label]));
	if (sort == SORT_COUNT)
		diff = descending(count_of(g, x), count_of(g, y));
	diff = diff ?: descending(x->sz, y->sz);
	diff = diff ?: descending(x->cnt, y->cnt);
	return diff ?: by_name;
}

static void reverse(struct groups *g)
{
	for (size_t i = 0; i < g->at_cnt / 2; i++) {
		struct group first = g->at[i];
		g->at[i] = g->at[g->at_cnt - 1 - i];
		g->at[g->at_cnt - 1 - i] = first;
	}
}

size_t rank_groups(struct groups *g)
{
	size_t all = g->at_cnt, valued = 0, kept = 0, limit = rank_limit(g->o);
	for (size_t i = 0; i < all; i++) {
		const struct group *v = &g->at[i];
		valued += count_of(g, v) > 0;
		if (count_of(g, v) > 0 && v->sz >= (double)g->o->min_bytes && count_of(g, v) >= (double)g->o->min_count)
			g->at[kept++] = *v;
	}
	g->at_cnt = kept;
	if (kept)
		qsort_r(g->at, kept, sizeof(*g->at), compare, g);
	if (g->at_cnt > limit)
		g->at_cnt = limit;
	if (g->o->ascending)
		reverse(g);
	return valued - g->at_cnt;
}
