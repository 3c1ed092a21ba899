/* SPDX-License-Identifier: Apache-2.0 */
/* top/rates: rates and growth of stacks and processes between lists. See view.h. */
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
	/* A new entry starts from zero; entries of the first list start from their current values. */
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
		/* If a sum decreased, counting was restarted. */
		p->rate_sz = s > 0 && sums[1] >= p->alloc_sz ? (sums[1] - p->alloc_sz) / s : 0;
		p->rate_cnt = s > 0 && sums[2] >= p->alloc_cnt ? (sums[2] - p->alloc_cnt) / s : 0;
	}
	add_point(p, now, sums[0]);
	double minutes = (double)(now - p->at[0].ns) / 60e9;
	p->growth = minutes > 0 ? (sums[0] - p->at[0].live) / minutes : 0;
	p->alloc_sz = sums[1];
	p->alloc_cnt = sums[2];
	p->told_sz = p->told_cnt = 0;
	p->fresh = !p->round && !first;
	p->was_cut = p->cut;
	p->cut = false;
	p->when_ns = now;
	p->round = v->round + 1;
}

/* Drops entries that are not in the newest list. */
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

static const char *lone_name(const struct feed *f, const struct feed_stack *s)
{
	return s->frames_cnt == 1 ? f->frames[f->path[s->first]].name : "";
}

static bool is_rest(const struct feed *f, const struct feed_stack *s)
{
	return !strcmp(lone_name(f, s), "[other]");
}

/* True for rows that sum several stacks: stacks join and leave these with all that they ever allocated. */
static bool is_mixed(const struct feed *f, const struct feed_stack *s)
{
	return is_rest(f, s) || !strcmp(lone_name(f, s), "[no stack]");
}

/* The process's entry, NULL if it is not in this list. */
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

static void tell(const struct past *p, struct past *all)
{
	all->told_sz += p->rate_sz;
	all->told_cnt += p->rate_cnt;
}

/* Its values before, as part of the rest, are unknown: start from the current ones. */
static void begin_anew(struct past *p, double live)
{
	p->rate_sz = p->rate_cnt = p->growth = 0;
	p->at_cnt = 0;
	add_point(p, p->when_ns, live);
}

enum share { SHARE_OWN, SHARE_MOVED, SHARE_MIXED };

static enum share share_of(const struct feed *f, const struct feed_stack *s, const struct past *p, const struct past *all)
{
	return is_mixed(f, s) ? SHARE_MIXED : all->was_cut && p->fresh ? SHARE_MOVED : SHARE_OWN;
}

static void take_part(const struct feed_stack *s, enum share share, struct past *p, struct past *all)
{
	if (share == SHARE_MOVED) {
		begin_anew(p, s->live_sz);
	} else if (share == SHARE_MIXED) {
		p->rate_sz = least(p->rate_sz, all->rate_sz - all->told_sz);
		p->rate_cnt = least(p->rate_cnt, all->rate_cnt - all->told_cnt);
		tell(p, all);
	} else {
		tell(p, all);
	}
}

static void take_parts(struct view *v, const struct feed *f, enum share share)
{
	for (size_t i = 0; i < f->stacks_cnt; i++) {
		const struct feed_stack *s = &f->stacks[i];
		const uint64_t *place = map_get(&v->past_index, s->key);
		struct past *p = place ? &v->past[*place] : NULL, *all = process_of(v, s);
		if (p && all && share_of(f, s, p, all) == share)
			take_part(s, share, p, all);
	}
}

/*
 * When a stack is forgotten or drops out of the listed ones, its totals move to its process's row for the rest and look like
 * new allocations there; likewise when a stack leaves that row. The process's total is not affected: what the certain
 * rows do not account for is the rate of the rest.
 */
static void correct_rates(struct view *v, const struct feed *f)
{
	for (size_t i = 0; i < f->stacks_cnt; i++) {
		struct past *all = process_of(v, &f->stacks[i]);
		if (all && is_rest(f, &f->stacks[i]))
			all->cut = true;
	}
	for (enum share share = SHARE_OWN; share <= SHARE_MIXED; share++)
		take_parts(v, f, share);
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
	v->taken_ns = now_ns;
	v->late_s = 0;
	v->hits = f->hits;
	v->recorded = f->recorded;
	v->skipped = f->skipped;
	v->lost = f->lost;
	buf_free(&v->causes);
	v->causes = f->causes;
	f->causes = (struct buf){ 0 };
	if (v->paused) {
		feed_free(f);
		return;
	}
	learn_all(v, f, now_ns);
	feed_free(&v->feed);
	v->feed = *f;
	*f = (struct feed){ 0 };
	view_rows(v);
}
