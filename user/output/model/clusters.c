/* SPDX-License-Identifier: Apache-2.0 */
/* model/clusters: see clusters.h. */
#include "model/clusters.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

void clusters_add(struct clusters *to, const struct clusters *c)
{
	to->sum += c->sum;
	to->var += c->var;
	to->common += c->common;
	for (int i = 0; i < SPREAD_GROUPS; i++)
		to->between[i] += c->between[i];
}

/* Ratio of a 95 % interval with n - 1 degrees of freedom to the normal one (Student's t / 1.96). */
static double wider(int n)
{
	static const double t[] = { 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
				    2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131 };
	return t[n < 2 ? 0 : n - 2] / 1.96;
}

/*
 * By how much a group differs from what all others say of it (jackknife of a ratio: Wolter, ch. 4). Of a single one they say
 * nothing: it might as well have had no samples.
 */
void clusters_to_deviations(struct clusters *c, const double weights[SPREAD_GROUPS])
{
	double sum = 0, all = 0;
	int n = 0;
	for (int i = 0; i < SPREAD_GROUPS; i++) {
		sum += (double)c->between[i];
		all += weights[i];
		n += weights[i] > 0;
	}
	double factor = wider(n) * (n > 1 ? sqrt((n - 1.0) / n) : 1);
	for (int i = 0; i < SPREAD_GROUPS && n; i++) {
		double others = all - weights[i], own = (double)c->between[i];
		double expected = others > 0 ? weights[i] * (sum - own) / others : 0;
		c->between[i] = (float)(factor * (own - expected));
	}
}

double clusters_unsure(double unsure, double weight)
{
	if (!(unsure > 0))
		return 0;
	/* Where probes seem to have taken all of the time, nothing is known. */
	double part = weight > 0 ? unsure / weight : 1;
	return part / fmax(1 - 1.96 * part, 0.2);
}

void clusters_row_add(struct clusters_row *to, const struct clusters_row *row)
{
	for (int i = 0; i < ESTIMATES; i++)
		clusters_add(&to->of[i], &row->of[i]);
}

void proc_windows_add(struct proc_windows *w, const struct event *e)
{
	double weight = (double)(int64_t)e->size;
	w->weights[e->batch - 1] += weight;
	w->reported += weight;
	w->unsure += (double)e->addr;
	w->counted = (double)e->enter_ns;
	if (e->enter_ns)
		w->unmet = (double)e->interval / WINDOW_UNMET_ONE;
}

static void add_estimate(struct totals *t, enum estimate of, double more)
{
	switch (of) {
	case ALLOC_CNT: t->est_alloc_cnt += more; return;
	case LIVE_CNT: t->est_live_cnt += more; return;
	case ALLOC_SZ: t->est_alloc_sz += more; return;
	default: t->est_live_sz += more; return;
	}
}

static void scale(struct clusters *c, double factor)
{
	c->sum *= factor;
	c->var *= factor * factor;
	c->common *= factor;
	for (int i = 0; i < SPREAD_GROUPS; i++)
		c->between[i] = (float)(factor * (double)c->between[i]);
}

void proc_windows_settle(const struct proc_windows *w, struct snapshot *s, size_t row)
{
	struct clusters_row *c = &s->clusters[s->rows[row].windows];
	double factor = w->reported > 0 && w->counted > 0 ? w->counted / w->reported : 1;
	double relative = clusters_unsure(w->unsure, w->reported);
	for (enum estimate k = 0; k < ESTIMATES; k++) {
		struct clusters was = c->of[k];
		scale(&c->of[k], factor);
		add_estimate(&s->rows[row].t, k, c->of[k].sum - was.sum);
		add_estimate(&s->all, k, c->of[k].sum - was.sum);
		s->rows[row].t.var[k] += c->of[k].var - was.var;
		s->all.var[k] += c->of[k].var - was.var;
		clusters_to_deviations(&c->of[k], w->weights);
		double sum = fabs(c->of[k].sum), always = totals_estimate(&s->rows[row].t, k) - c->of[k].sum;
		c->of[k].common = sum * relative + fmax(always * w->unmet - sum, 0);
	}
	clusters_row_add(&s->clusters[0], c);
}

static int give_clusters(struct snapshot *s, size_t row)
{
	size_t had = s->clusters ? s->clusters_cnt : 1;
	struct clusters_row *all = reallocarray(s->clusters, had + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	if (!s->clusters)
		all[0] = (struct clusters_row){ 0 };
	all[had] = (struct clusters_row){ 0 };
	s->clusters = all;
	s->clusters_cnt = had + 1;
	s->rows[row].windows = (uint32_t)had;
	return 0;
}

int proc_windows_widen(const struct proc_windows *w, struct snapshot *s, size_t row)
{
	if (give_clusters(s, row))
		return -ENOMEM;
	struct clusters_row *c = &s->clusters[s->rows[row].windows];
	for (enum estimate k = 0; k < ESTIMATES; k++) {
		double var = s->rows[row].t.var[k] * w->unmet * w->unmet;
		c->of[k].common = totals_estimate(&s->rows[row].t, k) * w->unmet;
		s->rows[row].t.var[k] += var;
		s->all.var[k] += var;
	}
	clusters_row_add(&s->clusters[0], c);
	return 0;
}

void clusters_widen_peak(struct snapshot *s)
{
	double alone = totals_var(&s->all, ALLOC_SZ);
	double effect = s->clusters && alone > 0 ? fmax(snapshot_var(s, s->n, ALLOC_SZ) / alone, 1) : 1;
	s->peak_var *= effect;
	for (size_t i = 0; s->peak && i < s->n; i++)
		s->peak[i].var *= effect;
	for (size_t i = 0; i < s->timeline.n; i++)
		s->timeline.at[i].live_var *= effect;
}

struct clusters_row *clusters_at(const struct clusters_rows *c, const struct snapshot_row *row)
{
	return row->windows ? &c->at[row->windows] : NULL;
}

int clusters_keep(struct clusters_rows *c, struct snapshot_row *row)
{
	if (row->windows)
		return 0;
	if ((!c->at_cnt && !VEC_PUSH(c, at)) || !VEC_PUSH(c, at))
		return -ENOMEM;
	row->windows = (uint32_t)c->at_cnt - 1;
	return 0;
}

int clusters_copy(const struct clusters_rows *c, struct snapshot *s)
{
	if (!c->at_cnt)
		return 0;
	s->clusters = calloc(c->at_cnt, sizeof(*s->clusters));
	if (!s->clusters)
		return -ENOMEM;
	s->clusters_cnt = c->at_cnt;
	memcpy(s->clusters, c->at, s->clusters_cnt * sizeof(*s->clusters));
	return 0;
}

void clusters_close(struct clusters_rows *c, struct snapshot_row *rows, size_t n)
{
	struct clusters_rows left = { .at = c->at_cnt ? calloc(n + 1, sizeof(*left.at)) : NULL, .at_cnt = 1, .at_cap = n + 1 };
	for (size_t i = 0; left.at && i < n; i++) {
		if (!rows[i].windows)
			continue;
		left.at[left.at_cnt] = c->at[rows[i].windows];
		rows[i].windows = (uint32_t)left.at_cnt++;
	}
	if (!left.at)
		return;
	free(c->at);
	*c = left;
}
