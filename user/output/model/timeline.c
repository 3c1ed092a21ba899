/* SPDX-License-Identifier: Apache-2.0 */
/* model/timeline: totals of the whole heap over time, in at most TIMELINE_SLICES equal slices. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "model/watch.h"

static void halve(struct timing *t)
{
	for (uint32_t i = 0; i < TIMELINE_SLICES / 2; i++) {
		const struct time_slice *a = &t->at[2 * i], *b = &t->at[2 * i + 1];
		t->at[i] = (struct time_slice){
			.alloc_cnt = a->alloc_cnt + b->alloc_cnt,
			.alloc_sz = a->alloc_sz + b->alloc_sz,
			.freed_cnt = a->freed_cnt + b->freed_cnt,
			.freed_sz = a->freed_sz + b->freed_sz,
			.live_cnt = 2 * i + 1 < t->n ? b->live_cnt : a->live_cnt,
			.live_sz = 2 * i + 1 < t->n ? b->live_sz : a->live_sz,
			.live_var = 2 * i + 1 < t->n ? b->live_var : a->live_var,
			.peak_sz = a->peak_sz > b->peak_sz ? a->peak_sz : b->peak_sz,
		};
	}
	memset(t->at + TIMELINE_SLICES / 2, 0, TIMELINE_SLICES / 2 * sizeof(*t->at));
	t->n = (t->n + 1) / 2;
}

/* Opens slices up to that of `now`; a time earlier than the last slice is counted in that one. */
static void reach(struct timing *t, const struct totals *all, uint64_t now)
{
	if (!t->n) {
		t->first_ns = now;
		t->n = 1;
	}
	uint64_t since = slices_since(t->first_ns, now);
	while (slices_widen(&t->slices, since, TIMELINE_SLICES))
		halve(t);
	while (t->n <= slices_at(&t->slices, since)) {
		struct time_slice *s = &t->at[t->n++];
		s->live_cnt = all->est_live_cnt;
		s->live_sz = s->peak_sz = all->est_live_sz;
		s->live_var = totals_var(all, LIVE_SZ);
	}
}

void timing_before(struct timing *t, const struct watched *w)
{
	reach(t, w->all, w->event->time_ns);
}

static void after(struct timing *t, const struct watched *w)
{
	struct time_slice *s = &t->at[t->n - 1];
	s->live_cnt = w->all->est_live_cnt;
	s->live_sz = w->all->est_live_sz;
	s->live_var = totals_var(w->all, LIVE_SZ);
	if (s->live_sz > s->peak_sz)
		s->peak_sz = s->live_sz;
}

/* Each process has an event of its own for the same window. */
int timing_add_window(struct timing *t, const struct event *e)
{
	if (t->windows_cnt && t->windows[t->windows_cnt - 1].opened >= e->time_ns)
		return 0;
	struct timing_window *w = VEC_PUSH(t, windows);
	if (!w)
		return -ENOMEM;
	uint64_t closed = e->time_ns + e->old_addr, stands = (uint64_t)e->span * 1000;
	*w = (struct timing_window){ .from = closed - (stands < closed ? stands : closed),
				     .opened = e->time_ns,
				     .closed = closed };
	return 0;
}

/* The last window that opened before `at`; NULL: there is none. */
static const struct timing_window *window_at(const struct timing *t, uint64_t at)
{
	size_t low = 0, high = t->windows_cnt;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (t->windows[middle].opened <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &t->windows[low - 1] : NULL;
}

static void add(struct time_slice *s, const struct watched *w, bool freed, double share)
{
	*(freed ? &s->freed_cnt : &s->alloc_cnt) += share * w->cnt;
	*(freed ? &s->freed_sz : &s->alloc_sz) += share * w->sz;
}

/* Evenly over the slices from one time to another one that is reached. */
static void spread(struct timing *t, const struct watched *w, bool freed, uint64_t from, uint64_t until)
{
	uint64_t width = slices_width_ns(&t->slices), begin = slices_since(t->first_ns, from);
	uint64_t end = slices_since(t->first_ns, until), last = slices_at(&t->slices, end);
	for (uint64_t i = slices_at(&t->slices, begin); i <= last && i < t->n && end > begin; i++) {
		uint64_t lo = i * width > begin ? i * width : begin, hi = (i + 1) * width < end ? (i + 1) * width : end;
		add(&t->at[i], w, freed, (double)(hi - lo) / (double)(end - begin));
	}
	if (end <= begin)
		add(&t->at[t->n - 1], w, freed, 1);
}

/*
 * A block of a window stands for blocks that began at any time for which the window stands, and ended as much later as it
 * did itself.
 */
static void count(struct timing *t, const struct watched *w, bool freed)
{
	uint64_t now = w->event->time_ns, reached = t->first_ns + t->n * slices_width_ns(&t->slices) - 1;
	const struct timing_window *window = w->windowed ? window_at(t, w->allocated_ns) : NULL;
	uint64_t lived = freed && now > w->allocated_ns ? now - w->allocated_ns : 0;
	if (!window || w->allocated_ns > window->closed)
		add(&t->at[t->n - 1], w, freed, 1);
	else
		spread(t, w, freed, window->from + lived, now < reached ? now : reached);
}

void timing_begun(struct timing *t, const struct watched *w)
{
	after(t, w);
	if (!(w->event->flags & EVENT_F_CARRIED))
		count(t, w, false);
}

void timing_ended(struct timing *t, const struct watched *w)
{
	after(t, w);
	count(t, w, true);
}

int timing_fill(const struct timing *t, const struct totals *all, uint64_t now, struct snapshot *s)
{
	struct timing copy = *t;
	copy.at = calloc(TIMELINE_SLICES, sizeof(*copy.at));
	if (!copy.at)
		return -ENOMEM;
	if (t->at) {
		memcpy(copy.at, t->at, TIMELINE_SLICES * sizeof(*copy.at));
		reach(&copy, all, now);
	}
	s->timeline = (struct timeline){ copy.first_ns, slices_width_ns(&copy.slices), copy.n, copy.at };
	return 0;
}
