/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model/lifetimes: how long blocks lived. A block is temporary if its thread frees it before it allocates again:
 * reusing memory would have saved the call.
 */
#include <errno.h>
#include <stdlib.h>

#include "model/watch.h"

const uint64_t age_limits_ns[AGE_CNT] = {
	1000000ull, 10000000ull, 100000000ull, 1000000000ull, 10000000000ull, 60000000000ull, 600000000000ull, UINT64_MAX,
};

static uint64_t thread_of(const struct event *e)
{
	return (uint64_t)e->proc.n << 32 | e->tid;
}

void lifetimes_begun(struct lifetimes *l, const struct watched *w)
{
	/* Out of memory: the thread's blocks count as not temporary. */
	uint64_t *last = map_put(&l->threads, thread_of(w->event));
	if (last)
		*last = w->id;
}

bool lifetimes_temporary(const struct lifetimes *l, const struct watched *w)
{
	if (w->event->kind != EVENT_FREE || w->event->flags & EVENT_F_BY_GC)
		return false;
	const uint64_t *last = map_get(&l->threads, thread_of(w->event));
	return last && *last == w->id;
}

void lifetimes_ended(struct lifetimes *l, const struct watched *w)
{
	struct lifetime_row *r = &l->rows[w->row];
	uint64_t now = w->event->time_ns, age = now > w->allocated_ns ? now - w->allocated_ns : 0;
	size_t i = 0;
	if (w->how == LIFE_MOVED) {
		r->moved_cnt += w->cnt;
		r->moved_sz += w->sz;
	}
	if (w->temporary) {
		r->temp_cnt += w->cnt;
		r->temp_sz += w->sz;
	}
	while (age >= age_limits_ns[i] && i + 1 < AGE_CNT)
		i++;
	r->lives[i] += w->cnt;
	r->freed_cnt += w->cnt;
	r->freed_sz += w->sz;
	r->freed_var += w->var;
	r->life_ns += w->cnt * (double)age;
}

int lifetimes_fill(const struct lifetimes *l, struct snapshot *s, const uint32_t *order)
{
	s->lifetimes = calloc(s->n + 1, sizeof(*s->lifetimes));
	if (!s->lifetimes)
		return -ENOMEM;
	for (size_t i = 0; i < s->n; i++)
		s->lifetimes[i] = l->rows[order[i]];
	return 0;
}
