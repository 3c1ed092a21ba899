/* SPDX-License-Identifier: Apache-2.0 */
/* monitor/heaps: see heaps.h. */
#include "monitor/heaps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/vec.h"
#include "recorder/live.h"

struct heap_mark {
	struct map index; /* (proc, stack) -> index in rows */
	struct snapshot_row *rows;
	size_t rows_cnt, rows_cap;
	struct clusters_row *clusters; /* taken over from the snapshot */
	uint64_t time_ns;
	struct proc_id proc;
	struct account account;
};

void heaps_free(struct heaps *h)
{
	while (h->at_cnt)
		heaps_drop(h, h->at[h->at_cnt - 1]->proc);
	free(h->at);
	map_free(&h->index);
	h->at = NULL;
	h->at_cap = 0;
}

struct heap_of *heaps_get(const struct heaps *h, struct proc_id proc)
{
	const uint64_t *place = map_get(&h->index, proc.n);
	return place ? h->at[*place] : NULL;
}

struct heap_of *heaps_put(struct heaps *h, struct proc_id proc)
{
	struct heap_of *known = heaps_get(h, proc);
	if (known)
		return known;
	struct heap_of *o = calloc(1, sizeof(*o));
	struct heap_of **slot = o ? VEC_PUSH(h, at) : NULL;
	uint64_t *place = slot ? map_put(&h->index, proc.n) : NULL;
	if (place)
		o->heap = heap_new();
	if (place && o->heap) {
		*place = h->at_cnt - 1;
		*slot = o;
		const struct proc *p = h->catalog ? catalog_proc(*h->catalog, proc) : NULL;
		o->proc = proc;
		o->subject = p ? p->subject : 0;
		o->begun_ns = now_ns();
		return o;
	}
	map_del(&h->index, proc.n);
	h->at_cnt -= slot != NULL;
	free(o);
	return NULL;
}

void heaps_drop(struct heaps *h, struct proc_id proc)
{
	struct heap_of *o = heaps_get(h, proc);
	if (!o)
		return;
	size_t place = (size_t)*map_get(&h->index, proc.n);
	struct heap_of *last = h->at[--h->at_cnt];
	h->at[place] = last;
	*map_get(&h->index, last->proc.n) = place;
	map_del(&h->index, proc.n);
	heap_free(o->heap);
	free(o);
}

int heaps_apply(struct heaps *h, const struct event *e)
{
	if (e->kind == EVENT_LOSS) {
		for (size_t i = 0; i < h->at_cnt; i++)
			heap_apply(h->at[i]->heap, e, NULL);
		return 0;
	}
	struct heap_of *o = heaps_put(h, e->proc);
	if (!o)
		return -ENOMEM;
	bool of_block = e->kind == EVENT_ALLOC || e->kind == EVENT_REALLOC || e->kind == EVENT_FREE;
	o->events += of_block;
	h->events += of_block;
	return heap_apply(o->heap, e, NULL);
}

/* xorshift64: random enough for one draw per block. */
static uint64_t coin(void *ctx)
{
	struct heaps *h = ctx;
	uint64_t x = h->seed ? h->seed : now_ns() | 1;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (h->seed = x) >> 32;
}

void heaps_thin(struct heaps *h)
{
	for (size_t i = 0; i < h->at_cnt; i++)
		heap_thin(h->at[i]->heap, coin, h);
	h->thinned++;
}

long heaps_forget_idle(struct heaps *h)
{
	long sum = 0;
	for (size_t i = 0; i < h->at_cnt; i++) {
		long n = heap_forget_idle(h->at[i]->heap);
		if (n < 0)
			return n;
		sum += n;
	}
	return sum;
}

bool heaps_know(const struct heaps *h, struct proc_id proc, struct stack_id stack)
{
	const struct heap_of *o = heaps_get(h, proc);
	return o && heap_knows(o->heap, proc, stack);
}

void heaps_note(struct heaps *h, double seconds)
{
	for (size_t i = 0; i < h->at_cnt; i++) {
		struct heap_of *o = h->at[i];
		const struct totals t = heap_estimate(o->heap);
		if (o->history_cnt == HISTORY_CNT)
			memmove(o->history, o->history + 1, --o->history_cnt * sizeof(o->history[0]));
		o->history[o->history_cnt++] = t.est_live_sz;
		o->rate = (t.est_alloc_sz - o->rate_base) / seconds;
		o->rate_base = t.est_alloc_sz;
	}
}

static uint64_t row_key(const struct snapshot_row *r)
{
	return (uint64_t)r->proc.n << 32 | r->stack.n;
}

static void add_facts(struct heap_facts *sum, const struct heap_facts *f)
{
	sum->events += f->events;
	sum->unknown_free += f->unknown_free;
	sum->inherited_free += f->inherited_free;
	sum->replaced += f->replaced;
	sum->stale_free += f->stale_free;
	sum->ended_live += f->ended_live;
	/* Losses cannot be attributed to a process and are applied to every heap: take the maximum, not the sum. */
	if (f->lost_frees > sum->lost_frees)
		sum->lost_frees = f->lost_frees;
	if (f->lost_allocs > sum->lost_allocs)
		sum->lost_allocs = f->lost_allocs;
	sum->thinned += f->thinned;
	sum->carried += f->carried;
	sum->heapfuls += f->heapfuls;
	sum->heapful_cases += f->heapful_cases;
	if (f->first_ns && (!sum->first_ns || f->first_ns < sum->first_ns))
		sum->first_ns = f->first_ns;
	if (f->last_ns > sum->last_ns)
		sum->last_ns = f->last_ns;
	sum->sampled |= f->sampled;
}

static int by_stack(const void *a, const void *b)
{
	const struct snapshot_row *x = a, *y = b;
	if (x->stack.n != y->stack.n)
		return x->stack.n < y->stack.n ? -1 : 1;
	return x->proc.n < y->proc.n ? -1 : x->proc.n > y->proc.n;
}

/* One snapshot of all heaps, not yet settled (heap_finish_windows). */
static struct snapshot *merge(const struct heaps *h, uint8_t subject)
{
	struct snapshot *all = calloc(1, sizeof(*all));
	if (!all)
		return NULL;
	for (size_t i = 0; i < h->at_cnt; i++) {
		if (h->at[i]->subject != subject)
			continue;
		struct snapshot *one = heap_snapshot_raw(h->at[i]->heap);
		if (!one || snapshot_append(all, one)) {
			snapshot_free(one);
			snapshot_free(all);
			return NULL;
		}
		add_facts(&all->facts, &one->facts);
		snapshot_free(one);
	}
	if (all->n)
		qsort(all->rows, all->n, sizeof(*all->rows), by_stack);
	return all;
}

static int settle(const struct heaps *h, struct proc_id proc, uint8_t subject, struct snapshot *s)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < h->at_cnt; i++)
		if (proc.n ? h->at[i]->proc.n == proc.n : h->at[i]->subject == subject)
			rc = heap_finish_windows(h->at[i]->heap, s);
	return rc;
}

static struct snapshot *raw_snapshot(const struct heaps *h, struct proc_id proc, uint8_t subject)
{
	const struct heap_of *o = heaps_get(h, proc);
	if (!proc.n)
		return merge(h, subject);
	return o ? heap_snapshot_raw(o->heap) : NULL;
}

static struct heap_mark *mark(const struct heaps *h, struct proc_id proc, uint8_t subject)
{
	struct snapshot *s = raw_snapshot(h, proc, subject);
	struct heap_mark *m = s ? calloc(1, sizeof(*m)) : NULL;
	for (size_t i = 0; m && i < s->n; i++) {
		struct snapshot_row *r = VEC_PUSH(m, rows);
		uint64_t *place = r ? map_put(&m->index, row_key(&s->rows[i])) : NULL;
		if (!place) {
			heap_mark_free(m);
			m = NULL;
			break;
		}
		*r = s->rows[i];
		*place = m->rows_cnt - 1;
	}
	if (m) {
		m->clusters = s->clusters;
		s->clusters = NULL;
		m->time_ns = now_ns();
		m->proc = proc;
	}
	snapshot_free(s);
	return m;
}

struct heap_mark *heaps_mark(const struct heaps *h, struct proc_id proc)
{
	return mark(h, proc, 0);
}

struct heap_mark *heaps_mark_all(const struct heaps *h, uint8_t subject)
{
	return mark(h, (struct proc_id){ 0 }, subject);
}

void heap_mark_free(struct heap_mark *m)
{
	if (!m)
		return;
	map_free(&m->index);
	free(m->rows);
	free(m->clusters);
	free(m);
}

uint64_t heap_mark_time(const struct heap_mark *m)
{
	return m->time_ns;
}

bool heap_mark_is_of(const struct heap_mark *m, struct proc_id proc)
{
	return m->proc.n == proc.n;
}

void heap_mark_note(struct heap_mark *m, const struct account *a)
{
	m->account = *a;
}

const struct account *heap_mark_account(const struct heap_mark *m)
{
	return &m->account;
}

static void count_from(struct totals *t, const struct totals *base)
{
	t->alloc_cnt -= base->alloc_cnt;
	t->alloc_sz -= base->alloc_sz;
	t->est_alloc_cnt -= base->est_alloc_cnt;
	t->est_alloc_sz -= base->est_alloc_sz;
	t->var[ALLOC_CNT] -= base->var[ALLOC_CNT];
	t->var[ALLOC_SZ] -= base->var[ALLOC_SZ];
}

static void count_clusters_from(struct clusters_row *row, const struct clusters_row *base)
{
	static const enum estimate counted[] = { ALLOC_CNT, ALLOC_SZ };
	for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++) {
		struct clusters *c = &row->of[counted[i]];
		const struct clusters *then = &base->of[counted[i]];
		c->sum -= then->sum;
		c->var -= then->var;
		for (int g = 0; g < SPREAD_GROUPS; g++)
			c->between[g] -= then->between[g];
	}
}

static void count_row_from(struct snapshot *s, size_t row, const struct heap_mark *m, const struct snapshot_row *base)
{
	count_from(&s->rows[row].t, &base->t);
	count_from(&s->all, &base->t);
	if (base->windows && s->rows[row].windows)
		count_clusters_from(&s->clusters[s->rows[row].windows], &m->clusters[base->windows]);
}

/*
 * If a stack was forgotten since the mark, its totals were moved to its process's row without a stack, even if the stack
 * appeared again since (`no` differs).
 */
static int subtract(struct snapshot *s, const struct heap_mark *m)
{
	struct map rows = { 0 };
	const struct map_slot *slot;
	bool failed = false;
	for (size_t i = 0; i < s->n && !failed; i++) {
		uint64_t *place = map_put(&rows, row_key(&s->rows[i]));
		failed = !place;
		if (place)
			*place = i;
	}
	for (size_t i = 0; !failed && (slot = map_next(&m->index, &i));) {
		const struct snapshot_row *base = &m->rows[slot->value];
		const uint64_t *place = map_get(&rows, slot->key);
		if (!place || s->rows[*place].no != base->no)
			place = map_get(&rows, slot->key & ~(uint64_t)UINT32_MAX);
		if (place)
			count_row_from(s, *place, m, base);
	}
	map_free(&rows);
	s->facts.first_ns = m->time_ns;
	return failed ? -ENOMEM : 0;
}

static int by_size(const void *a, const void *b)
{
	const struct snapshot_row *x = a, *y = b;
	double dx = x->t.est_live_sz + x->t.est_alloc_sz, dy = y->t.est_live_sz + y->t.est_alloc_sz;
	return dx > dy ? -1 : dx < dy ? 1 : by_stack(a, b);
}

static int by_proc(const void *a, const void *b)
{
	const struct snapshot_row *x = a, *y = b;
	return x->proc.n != y->proc.n ? (x->proc.n < y->proc.n ? -1 : 1) : by_size(a, b);
}

/* The rest is summed per process, not over all: it must not be attributed to another process. */
static void cut(struct snapshot *s, size_t rows_max)
{
	if (!rows_max || s->n <= rows_max)
		return;
	qsort(s->rows, s->n, sizeof(*s->rows), by_size);
	size_t kept = rows_max - 1, n = kept;
	qsort(s->rows + kept, s->n - kept, sizeof(*s->rows), by_proc);
	for (size_t i = kept; i < s->n; i++) {
		const struct snapshot_row *r = &s->rows[i];
		if (n > kept && s->rows[n - 1].proc.n == r->proc.n) {
			snapshot_join(s, n - 1, i);
			continue;
		}
		s->rows[n] = *r;
		s->rows[n].stack.n = 0;
		s->rows[n++].split = 0;
	}
	s->n = n;
	qsort(s->rows, s->n, sizeof(*s->rows), by_stack);
}

static struct snapshot *snapshot(const struct heaps *h, struct proc_id proc, uint8_t subject, const struct heap_mark *since,
				 size_t rows_max)
{
	struct snapshot *s = raw_snapshot(h, proc, subject);
	if (s && ((since && subtract(s, since)) || settle(h, proc, subject, s))) {
		snapshot_free(s);
		s = NULL;
	}
	if (s)
		cut(s, rows_max);
	return s;
}

struct snapshot *heaps_snapshot(const struct heaps *h, struct proc_id proc, const struct heap_mark *since, size_t rows_max)
{
	return snapshot(h, proc, 0, since, rows_max);
}

struct snapshot *heaps_snapshot_all(const struct heaps *h, uint8_t subject, const struct heap_mark *since, size_t rows_max)
{
	return snapshot(h, (struct proc_id){ 0 }, subject, since, rows_max);
}
