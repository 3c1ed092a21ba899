/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model/growth: live bytes of each row at the ends of at most GROWTH_SLICES equal slices of time. A row is updated only
 * when it changes: skipped slices are filled in, and rows at an older, finer scale are halved, at its next use.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/rules.h"
#include "model/watch.h"

static uint64_t slice_of(struct growth *g, uint64_t now)
{
	if (!g->first_ns)
		g->first_ns = now;
	uint64_t since = slices_since(g->first_ns, now);
	while (slices_widen(&g->slices, since, GROWTH_SLICES))
		; /* rows follow at their next use */
	return slices_at(&g->slices, since);
}

static unsigned int band_of(uint64_t slice)
{
	unsigned int band = 0;
	for (; slice && band + 1 < GROWTH_BANDS; slice >>= 1)
		band++;
	return band;
}

/* Merges pairs of slices; a merged slice has the value of its second half, since values are taken at slice ends. */
static void halve(struct growth_row *r)
{
	for (uint32_t i = 0; i < r->n / 2; i++)
		r->live_sz[i] = r->live_sz[2 * i + 1];
	r->kept_var[1] += r->kept_var[0];
	for (size_t i = 0; i + 1 < GROWTH_BANDS; i++) {
		r->live_var[i] = r->live_var[i + 1];
		r->kept_var[i] = r->kept_var[i + 1];
	}
	r->kept_var[GROWTH_BANDS - 1] = 0;
	r->n /= 2;
	r->scale++;
}

/* The slice of `now`, after bringing the row to the current scale. */
static uint64_t scale_row(struct growth *g, struct growth_row *r, uint64_t now)
{
	uint64_t slice = slice_of(g, now);
	while (r->scale < g->slices.scale)
		halve(r);
	return slice;
}

void growth_reach(struct growth *g, uint32_t row, const struct totals *t, uint64_t now)
{
	struct growth_row *r = &g->rows[row];
	uint64_t slice = scale_row(g, r, now);
	for (; r->n < slice; r->n++) {
		r->live_sz[r->n] = t->est_live_sz;
		r->live_var[band_of(r->n)] = t->var[LIVE_SZ];
	}
}

void growth_note_live(struct growth *g, uint32_t row, const struct life *life, double var, uint64_t now)
{
	struct growth_row *r = &g->rows[row];
	uint64_t age = now > life->allocated_ns ? now - life->allocated_ns : 0;
	size_t i = 0;
	while (age >= age_limits_ns[i] && i + 1 < AGE_CNT)
		i++;
	r->ages[i] += life->cnt;
	if (!r->oldest_ns || life->allocated_ns < r->oldest_ns)
		r->oldest_ns = life->allocated_ns;
	scale_row(g, r, now);
	r->kept_var[band_of(slices_at(&g->slices, slices_since(g->first_ns, life->allocated_ns)))] += var;
}

/*
 * Blocks that are live from the end of the first slice to now count equally at both ends, so they do not contribute to
 * the difference. If blocks were thinned, their former contribution is unknown: the result is an upper bound.
 */
static double gained_var(const struct growth_row *r, double now_var, bool thinned)
{
	if (!r->n)
		return now_var;
	double var = r->live_var[0] + now_var - (thinned ? 0 : 2 * r->kept_var[0]);
	return var > 0 ? var : 0;
}

int growth_copy(const struct growth *g, struct growth *out)
{
	*out = *g;
	out->rows = malloc((g->rows_cnt + 1) * sizeof(*g->rows));
	if (!out->rows)
		return -ENOMEM;
	if (g->rows_cnt)
		memcpy(out->rows, g->rows, g->rows_cnt * sizeof(*g->rows));
	return 0;
}

/* Only the first slices. What was allocated in slice 0 and freed after them is not known, so the variance is an upper bound. */
static void cut_row(struct growth_row *r, uint64_t slices, bool thinned)
{
	r->n = (uint32_t)slices;
	r->gained_var = slices > 1 ? gained_var(r, r->live_var[band_of(slices - 1)], thinned) : slices ? r->live_var[0] : 0;
}

int growth_fill(const struct growth *g, struct snapshot *s, const uint32_t *order)
{
	uint64_t ended = slices_at(&g->slices, slices_since(g->first_ns, s->young_ns));
	s->growth = calloc(s->n + 1, sizeof(*s->growth));
	if (!s->growth)
		return -ENOMEM;
	for (size_t i = 0; i < s->n; i++) {
		struct growth_row *r = &s->growth[i];
		*r = g->rows[order[i]];
		if (ended <= r->n) {
			cut_row(r, ended, s->facts.thinned);
			continue;
		}
		r->gained_var = gained_var(r, s->rows[i].t.var[LIVE_SZ], s->facts.thinned);
		/* The current slice ends now. */
		r->live_sz[r->n++] = s->rows[i].t.est_live_sz;
	}
	s->growth_slice_ns = slices_width_ns(&g->slices);
	return 0;
}

void growth_free(struct growth *g)
{
	free(g->rows);
	*g = (struct growth){ 0 };
}

void growth_row_add(struct growth_row *to, const struct growth_row *r)
{
	for (uint32_t i = 0; i < r->n; i++)
		to->live_sz[i] += r->live_sz[i];
	to->gained_var += r->gained_var;
	for (size_t i = 0; i < AGE_CNT; i++)
		to->ages[i] += r->ages[i];
	to->n = r->n > to->n ? r->n : to->n;
	if (r->oldest_ns && (!to->oldest_ns || r->oldest_ns < to->oldest_ns))
		to->oldest_ns = r->oldest_ns;
}

double growth_row_steadiness(const struct growth_row *r)
{
	return growth_steadiness(r->live_sz, (int)r->n);
}

double growth_row_gained(const struct growth_row *r)
{
	return growth_gained(r->live_sz, (int)r->n);
}

double growth_row_score(const struct growth_row *r)
{
	return growth_score(growth_row_gained(r), growth_row_steadiness(r));
}
