/* top/past: rates and growth of stacks and processes from one list to the next. See view.h. */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "top/view.h"

uint64_t view_process_key(uint32_t pid)
{
	return 0x9e3779b97f4a7c15ull * (pid + 1ull);
}

const struct past *view_past(const struct view *v, uint64_t key)
{
	const uint64_t *place = map_get(&v->past_index, key);
	return place ? &v->past[*place] : NULL;
}

static struct past *find(struct view *v, uint64_t key)
{
	uint64_t *place = map_get(&v->past_index, key);
	if (place)
		return &v->past[*place];
	struct past *p = VEC_PUSH(v, past);
	place = p ? map_put(&v->past_index, key) : NULL;
	if (!place) {
		v->past_cnt -= p != NULL;
		return NULL;
	}
	*place = v->past_cnt - 1;
	p->key = key;
	/* What is new since the last list had nothing then; in the first list all is old. */
	p->when_ns = v->now_ns;
	return p;
}

static void add_point(struct past *p, uint64_t ns, double live)
{
	if (p->at_cnt && ns - p->at[p->at_cnt - 1].ns < PAST_APART_NS)
		return;
	if (p->at_cnt == PAST_POINTS) {
		for (size_t i = 1; i < PAST_POINTS; i++)
			p->at[i - 1] = p->at[i];
		p->at_cnt--;
	}
	p->at[p->at_cnt].ns = ns;
	p->at[p->at_cnt++].live = live;
}

static void learn(struct view *v, uint64_t key, uint64_t now, const double sums[3])
{
	bool first = !v->round;
	struct past *p = find(v, key);
	if (!p)
		return;
	if (!p->round && !first)
		add_point(p, p->when_ns, 0);
	if (p->round || !first) {
		double s = (double)(now - p->when_ns) / 1e9;
		/* Less than before: what is counted began anew. */
		p->rate_sz = s > 0 && sums[1] >= p->alloc_sz ? (sums[1] - p->alloc_sz) / s : 0;
		p->rate_cnt = s > 0 && sums[2] >= p->alloc_cnt ? (sums[2] - p->alloc_cnt) / s : 0;
	}
	add_point(p, now, sums[0]);
	double minutes = (double)(now - p->at[0].ns) / 60e9;
	p->growth = minutes > 0 ? (sums[0] - p->at[0].live) / minutes : 0;
	p->alloc_sz = sums[1];
	p->alloc_cnt = sums[2];
	p->told_sz = p->told_cnt = 0;
	p->when_ns = now;
	p->round = v->round + 1;
}

/* Forgets what the newest list has not. */
static void forget(struct view *v)
{
	size_t n = 0;
	for (size_t i = 0; i < v->past_cnt; i++) {
		if (v->past[i].round == v->round)
			v->past[n++] = v->past[i];
	}
	if (n == v->past_cnt)
		return;
	v->past_cnt = n;
	map_free(&v->past_index);
	for (size_t i = 0; i < n; i++) {
		uint64_t *place = map_put(&v->past_index, v->past[i].key);
		if (place)
			*place = i;
	}
}

static bool has_no_stack(const struct feed *f, const struct feed_stack *s)
{
	return s->frames_cnt == 1 && !strcmp(f->frames[f->path[s->first]].name, "[no stack]");
}

/* Of a process, as of this list; NULL when it is not in it. */
static struct past *process_of(struct view *v, const struct feed_stack *s)
{
	const uint64_t *place = map_get(&v->past_index, view_process_key(s->pid));
	struct past *p = place ? &v->past[*place] : NULL;
	return p && p->round == v->round + 1 ? p : NULL;
}

static double least(double a, double b)
{
	return a < b ? a : b > 0 ? b : 0;
}

/*
 * A stack that is forgotten leaves what it ever allocated to its process' row without a stack,
 * where it looks as if it had come since the last list. The process has allocated no more than
 * before: what its other rows do not account for is new.
 */
static void correct_rates(struct view *v, const struct feed *f)
{
	for (size_t i = 0; i < f->stacks_cnt; i++) {
		const struct past *p = view_past(v, f->stacks[i].key);
		struct past *all = process_of(v, &f->stacks[i]);
		if (!p || !all || has_no_stack(f, &f->stacks[i]))
			continue;
		all->told_sz += p->rate_sz;
		all->told_cnt += p->rate_cnt;
	}
	for (size_t i = 0; i < f->stacks_cnt; i++) {
		const struct past *all = process_of(v, &f->stacks[i]);
		struct past *p;
		if (!all || !has_no_stack(f, &f->stacks[i]) || !(p = find(v, f->stacks[i].key)))
			continue;
		p->rate_sz = least(p->rate_sz, all->rate_sz - all->told_sz);
		p->rate_cnt = least(p->rate_cnt, all->rate_cnt - all->told_cnt);
	}
}

static void learn_all(struct view *v, const struct feed *f, uint64_t now)
{
	for (size_t i = 0; i < f->stacks_cnt; i++) {
		const struct feed_stack *s = &f->stacks[i];
		learn(v, s->key, now, (double[]){ s->live_sz, s->alloc_sz, s->alloc_cnt });
	}
	for (size_t i = 0; i < f->processes_cnt; i++) {
		const struct feed_process *p = &f->processes[i];
		learn(v, view_process_key(p->pid), now, (double[]){ p->live_sz, p->alloc_sz, p->alloc_cnt });
	}
	correct_rates(v, f);
	v->round++;
	forget(v);
	v->now_ns = now;
}

void view_take(struct view *v, struct feed *f, uint64_t now_ns)
{
	if (!v->first_ns)
		v->first_ns = now_ns;
	learn_all(v, f, now_ns);
	v->hits = f->hits;
	v->recorded = f->recorded;
	v->aside = f->aside;
	v->lost = f->lost;
	if (v->paused) {
		feed_free(f);
		return;
	}
	feed_free(&v->feed);
	v->feed = *f;
	*f = (struct feed){ 0 };
	view_rows(v);
}
