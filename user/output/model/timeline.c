/* SPDX-License-Identifier: Apache-2.0 */
/* model/timeline: totals of the whole heap over time, in at most TIMELINE_SLICES equal slices. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
		s->live_var = all->var[LIVE_SZ];
	}
}

void timing_before(struct timing *t, const struct watched *w)
{
	reach(t, w->all, w->event->time_ns);
}

static struct time_slice *after(struct timing *t, const struct watched *w)
{
	struct time_slice *s = &t->at[t->n - 1];
	s->live_cnt = w->all->est_live_cnt;
	s->live_sz = w->all->est_live_sz;
	s->live_var = w->all->var[LIVE_SZ];
	if (s->live_sz > s->peak_sz)
		s->peak_sz = s->live_sz;
	return s;
}

void timing_begun(struct timing *t, const struct watched *w)
{
	struct time_slice *s = after(t, w);
	if (w->event->flags & EVENT_F_CARRIED)
		return;
	s->alloc_cnt += w->cnt;
	s->alloc_sz += w->sz;
}

void timing_ended(struct timing *t, const struct watched *w)
{
	struct time_slice *s = after(t, w);
	s->freed_cnt += w->cnt;
	s->freed_sz += w->sz;
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
