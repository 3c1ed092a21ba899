/*
 * sink/tally: see tally.h. The whole heap's peak needs no copy of all rows at each new peak: a row
 * is saved when it changes for the first time after one, and until then is what it was at it.
 */
#include "sink/tally.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "sink/format.h"

static void save_peak(const struct tally *t, struct tally_row *r)
{
	if (r->epoch == t->epoch)
		return;
	r->epoch = t->epoch;
	r->peak = r->live;
}

static uint64_t thread_of(const struct event *e)
{
	return (uint64_t)e->proc.n << 32 | e->tid;
}

static bool is_temporary(const struct tally *t, const struct life *life, enum life_end how,
			 const struct event *e)
{
	if (how != LIFE_FREED || e->kind != EVENT_FREE || e->flags & EVENT_F_BY_GC)
		return false;
	const uint64_t *last = map_get(&t->threads, thread_of(e));
	return last && *last == life->id;
}

static void take(struct amount *from, const struct amount *by)
{
	from->cnt -= by->cnt;
	from->sz -= by->sz;
	/* Rounding of many additions must not outlive the last block. */
	if (from->cnt < 1e-6)
		*from = (struct amount){ 0 };
}

static void on_end(void *ctx, const struct life *life, enum life_end how, const struct event *e)
{
	struct tally *t = ctx;
	struct tally_row *r = &t->rows[life->tag];
	struct tally_change c = {
		.path = life->tag,
		.how = (int)how,
		.life = life,
		.by = { life->cnt, life->cnt * (double)life->size },
		.time_ns = e ? e->time_ns : t->last_ns,
	};
	if (c.time_ns > life->born_ns)
		r->life_ns += life->cnt * (double)(c.time_ns - life->born_ns);
	if (how < LIFE_EXIT) {
		c.temporary = is_temporary(t, life, how, e);
		save_peak(t, r);
		take(&r->live, &c.by);
		take(&t->live, &c.by);
	}
	if (t->changed)
		t->changed(t->ctx, &c);
}

static void on_begin(struct tally *t, const struct life *life, const struct event *e)
{
	struct tally_row *r = &t->rows[life->tag];
	struct tally_change c = {
		.path = life->tag,
		.how = -1,
		.life = life,
		.by = { life->cnt, life->cnt * (double)life->size },
		.time_ns = e->time_ns,
	};
	uint64_t *last = map_put(&t->threads, thread_of(e));
	/* Without memory for the thread its blocks count as not temporary. */
	if (last)
		*last = life->id;
	save_peak(t, r);
	r->alloc = (struct amount){ r->alloc.cnt + c.by.cnt, r->alloc.sz + c.by.sz };
	r->live = (struct amount){ r->live.cnt + c.by.cnt, r->live.sz + c.by.sz };
	t->live = (struct amount){ t->live.cnt + c.by.cnt, t->live.sz + c.by.sz };
	if (r->live.sz > r->max.sz)
		r->max = r->live;
	if (t->live.sz > t->peak.sz) {
		t->peak = t->live;
		t->peak_ns = e->time_ns;
		t->epoch++;
	}
	if (t->changed)
		t->changed(t->ctx, &c);
}

void tally_begin(struct tally *t, const struct sink_input *in)
{
	const char *start = catalog_meta(in->catalog, "start_mono_ns");
	t->paths.catalog = in->catalog;
	t->paths.options = in->options;
	t->lives.ended = on_end;
	t->lives.ctx = t;
	t->first_ns = start ? strtoull(start, NULL, 10) : 0;
	t->last_ns = t->first_ns;
}

static void note_event(struct tally *t, const struct event *e)
{
	if (e->kind == EVENT_LOSS && (e->lost_kind == EVENT_FREE || e->lost_kind == EVENT_REALLOC))
		t->lost_frees += e->size;
	if (!t->first_ns)
		t->first_ns = e->time_ns;
	if (e->time_ns > t->last_ns)
		t->last_ns = e->time_ns;
}

static int path_of(struct tally *t, struct stack_id id, uint32_t *path)
{
	*path = paths_of(&t->paths, id);
	if (*path == NAMES_FAILED)
		return -ENOMEM;
	while (t->rows_cnt <= *path) {
		if (!VEC_PUSH(t, rows))
			return -ENOMEM;
	}
	return 0;
}

int tally_event(struct tally *t, const struct event *e, const struct applied *a)
{
	const struct life *born = NULL;
	uint32_t path = 0;
	note_event(t, e);
	bool allocates = e->kind == EVENT_ALLOC || e->kind == EVENT_REALLOC;
	int rc = allocates && e->addr ? path_of(t, e->stack, &path) : 0;
	if (!rc)
		rc = lives_apply(&t->lives, e, a, path, &born);
	if (rc > 0)
		on_begin(t, born, e);
	return rc < 0 ? rc : 0;
}

int tally_end(struct tally *t)
{
	int rc = lives_end(&t->lives);
	for (size_t i = 0; i < t->rows_cnt; i++)
		save_peak(t, &t->rows[i]);
	return rc;
}

void tally_free(struct tally *t)
{
	paths_free(&t->paths);
	lives_free(&t->lives);
	map_free(&t->threads);
	free(t->rows);
}
