/* SPDX-License-Identifier: Apache-2.0 */
/* model/snapshot: copies of a heap's rows; see model.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/clusters.h"

void snapshot_free(struct snapshot *s)
{
	if (!s)
		return;
	free(s->rows);
	free(s->clusters);
	free(s->peak);
	free(s->lifetimes);
	free(s->growth);
	free(s->timeline.at);
	free(s);
}

struct spread snapshot_spread(const struct snapshot *s, size_t row, enum estimate of)
{
	const struct snapshot_row *r = row < s->n ? &s->rows[row] : NULL;
	const struct totals *t = r ? &r->t : &s->all;
	struct spread out = { .sum = totals_estimate(t, of), .var = t->var[of] };
	if (r && of == ALLOC_SZ)
		out.placed = r->t.placed;
	if (s->clusters && (!r || r->windows))
		out.windows = s->clusters[r ? r->windows : 0].of[of];
	return out;
}

double snapshot_var(const struct snapshot *s, size_t row, enum estimate of)
{
	struct spread spread = snapshot_spread(s, row, of);
	return spread_var(&spread);
}

/*
 * Indices of the appended rows are shifted by the number already there. Entry 0 is the total; as a row's index, 0 means
 * none.
 */
static int append_clusters(struct snapshot *to, const struct snapshot *s)
{
	size_t had = to->clusters_cnt ? to->clusters_cnt : 1, more = s->clusters_cnt - 1;
	struct clusters_row *all = reallocarray(to->clusters, had + more, sizeof(*all));
	if (!all)
		return -ENOMEM;
	if (!to->clusters)
		*all = (struct clusters_row){ 0 };
	to->clusters = all;
	to->clusters_cnt = had + more;
	clusters_row_add(&all[0], &s->clusters[0]);
	memcpy(all + had, s->clusters + 1, more * sizeof(*all));
	for (size_t i = to->n - s->n; i < to->n; i++)
		to->rows[i].windows += to->rows[i].windows ? (uint32_t)had - 1 : 0;
	return 0;
}

int snapshot_append(struct snapshot *to, const struct snapshot *s)
{
	struct snapshot_row *rows = reallocarray(to->rows, to->n + s->n + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	to->rows = rows;
	memcpy(rows + to->n, s->rows, s->n * sizeof(*rows));
	to->n += s->n;
	totals_add(&to->all, &s->all);
	return s->clusters ? append_clusters(to, s) : 0;
}

void snapshot_join(struct snapshot *s, size_t to, size_t from)
{
	struct snapshot_row *a = &s->rows[to];
	const struct snapshot_row *b = &s->rows[from];
	totals_add(&a->t, &b->t);
	if (a->windows && b->windows)
		clusters_row_add(&s->clusters[a->windows], &s->clusters[b->windows]);
	else if (b->windows)
		a->windows = b->windows;
}
