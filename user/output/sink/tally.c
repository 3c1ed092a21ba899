/* SPDX-License-Identifier: Apache-2.0 */
/* sink/tally: see tally.h. */
#include "sink/tally.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "format/format.h"

static void add(struct amount *to, const struct amount *by)
{
	to->cnt += by->cnt;
	to->sz += by->sz;
}

static void take(struct amount *from, const struct amount *by)
{
	from->cnt -= by->cnt;
	from->sz -= by->sz;
	/* Rounding errors must not remain once the last block is gone. */
	if (from->cnt < 1e-6)
		*from = (struct amount){ 0 };
}

static struct amount amount_of(const struct life *life)
{
	return (struct amount){ life->cnt, life->cnt * (double)life->size };
}

static struct tally_row *row_of(struct tally *t, struct stack_id id, uint32_t *path)
{
	*path = paths_of(&t->paths, id);
	while (*path != NAMES_FAILED && t->rows_cnt <= *path) {
		if (!VEC_PUSH(t, rows))
			return NULL;
	}
	return *path == NAMES_FAILED ? NULL : &t->rows[*path];
}

static uint32_t on_begin(void *ctx, const struct life *life, const struct event *e)
{
	struct tally *t = ctx;
	struct tally_change c = {
		.how = -1, .life = life, .by = amount_of(life), .time_ns = e->time_ns, .carried = e->flags & EVENT_F_CARRIED
	};
	struct tally_row *r = row_of(t, e->stack, &c.path);
	if (!r) {
		t->failed = true;
		return NAMES_FAILED;
	}
	if (!t->first_ns)
		t->first_ns = e->time_ns;
	add(&r->live, &c.by);
	add(&t->live, &c.by);
	if (c.carried)
		add(&r->carried, &c.by);
	if (r->live.sz > r->max.sz)
		r->max = r->live;
	if (t->changed)
		t->changed(t->ctx, &c);
	return c.path;
}

static void on_end(void *ctx, const struct life *life, enum life_end how, const struct event *e)
{
	struct tally *t = ctx;
	struct tally_change c = {
		.path = life->tag,
		.how = (int)how,
		.life = life,
		.by = amount_of(life),
		.time_ns = e ? e->time_ns : t->last_ns,
	};
	if (life->tag == NAMES_FAILED)
		return;
	struct tally_row *r = &t->rows[life->tag];
	if (c.time_ns > life->allocated_ns)
		r->life_ns += life->cnt * (double)(c.time_ns - life->allocated_ns);
	if (how < LIFE_EXIT) {
		take(&r->live, &c.by);
		take(&t->live, &c.by);
	}
	if (t->changed)
		t->changed(t->ctx, &c);
}

void tally_begin(struct tally *t, const struct sink_input *in)
{
	const struct heap_listener listener = { on_begin, on_end, t };
	t->paths.catalog = in->catalog;
	t->paths.options = in->options;
	t->first_ns = format_start_ns(in);
	t->heap = in->heap;
	heap_watch(t->heap, HEAP_PEAK | HEAP_LIFETIMES | (t->grows ? HEAP_GROWTH : 0));
	heap_listen(t->heap, &listener);
}

/* Adds the snapshot's sums; rows that are displayed alike share a path. */
static int add_sums(struct tally *t, const struct snapshot *s)
{
	for (size_t i = 0; i < s->n; i++) {
		uint32_t path;
		struct tally_row *r = row_of(t, s->rows[i].stack, &path);
		if (!r)
			return -ENOMEM;
		add(&r->alloc, &(struct amount){ s->rows[i].t.est_alloc_cnt, s->rows[i].t.est_alloc_sz });
		struct spread off = snapshot_spread(s, i, ALLOC_SZ);
		spread_add(&r->alloc_off, &off);
		add(&r->peak, &(struct amount){ s->peak[i].cnt, s->peak[i].sz });
	}
	t->peak = (struct amount){ s->peak_cnt, s->peak_sz };
	t->peak_ns = s->peak_ns;
	t->var_live = snapshot_var(s, s->n, LIVE_SZ);
	t->var_alloc = snapshot_var(s, s->n, ALLOC_SZ);
	t->var_peak = s->peak_var;
	t->lost_frees = s->facts.lost_frees;
	return 0;
}

static int add_growth(struct tally *t, const struct snapshot *s)
{
	struct growth_row *sums = calloc(t->rows_cnt + 1, sizeof(*sums));
	t->growth = calloc(t->rows_cnt + 1, sizeof(*t->growth));
	for (size_t i = 0; sums && t->growth && i < s->n; i++) {
		uint32_t path;
		if (row_of(t, s->rows[i].stack, &path))
			growth_row_add(&sums[path], &s->growth[i]);
	}
	for (size_t i = 0; sums && t->growth && i < t->rows_cnt; i++)
		t->growth[i] =
			(struct tally_growth){ growth_row_gained(&sums[i]), growth_row_steadiness(&sums[i]), sums[i].gained_var };
	free(sums);
	return sums && t->growth ? 0 : -ENOMEM;
}

int tally_end(struct tally *t)
{
	struct snapshot *s = heap_snapshot(t->heap);
	if (!s)
		return -ENOMEM;
	t->last_ns = s->facts.last_ns > t->first_ns ? s->facts.last_ns : t->first_ns;
	heap_report_left(t->heap);
	int rc = add_sums(t, s);
	if (!rc && t->grows)
		rc = add_growth(t, s);
	snapshot_free(s);
	return t->failed ? -ENOMEM : rc;
}

void tally_free(struct tally *t)
{
	paths_free(&t->paths);
	free(t->rows);
	free(t->growth);
}
