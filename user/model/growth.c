/*
 * model/growth: the live bytes of every row at the ends of at most GROWTH_SLICES equal slices of
 * time. A row is written only when it changes; slices it slept through are filled when it is looked
 * at again, and rows of an older, finer scale are halved then.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/watch.h"

#define FINEST 20 /* 2^20 ns: about a millisecond */

static uint64_t slice_of(struct growth *g, uint64_t now)
{
	if (!g->first_ns)
		g->first_ns = now;
	uint64_t since = now > g->first_ns ? now - g->first_ns : 0;
	while (since >> (FINEST + g->scale) >= GROWTH_SLICES)
		g->scale++;
	return since >> (FINEST + g->scale);
}

/* Two slices become one; it ends where the second of them ended. */
static void halve(struct growth_row *r)
{
	for (uint32_t i = 0; i < r->n / 2; i++)
		r->live_sz[i] = r->live_sz[2 * i + 1];
	r->n /= 2;
	r->scale++;
}

void growth_reach(struct growth *g, uint32_t row, const struct totals *t, uint64_t now)
{
	struct growth_row *r = &g->rows[row];
	uint64_t slice = slice_of(g, now);
	while (r->scale < g->scale)
		halve(r);
	while (r->n < slice)
		r->live_sz[r->n++] = t->est_live_sz;
}

void growth_note_age(struct growth_row *r, uint64_t born_ns, uint64_t now, double cnt)
{
	uint64_t age = now > born_ns ? now - born_ns : 0;
	size_t i = 0;
	while (age >= age_limits_ns[i] && i + 1 < AGE_CNT)
		i++;
	r->ages[i] += cnt;
	if (!r->oldest_ns || born_ns < r->oldest_ns)
		r->oldest_ns = born_ns;
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

int growth_fill(const struct growth *g, struct snapshot *s, const uint32_t *order)
{
	s->growth = calloc(s->n + 1, sizeof(*s->growth));
	if (!s->growth)
		return -ENOMEM;
	for (size_t i = 0; i < s->n; i++) {
		s->growth[i] = g->rows[order[i]];
		/* The slice that time is in ends here. */
		s->growth[i].live_sz[s->growth[i].n++] = s->rows[i].t.est_live_sz;
	}
	s->growth_slice_ns = 1ull << (FINEST + g->scale);
	return 0;
}

void growth_free(struct growth *g)
{
	free(g->rows);
	*g = (struct growth){ 0 };
}
