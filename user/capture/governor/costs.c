/* SPDX-License-Identifier: Apache-2.0 */
/* governor/costs: see costs.h. */
#include "governor/costs.h"

#include "governor/gauge.h"

/* One that was gone before it was looked at has no time of its start: it began while others were looked at. */
static bool began_here(const struct costs *c, const struct proc *p)
{
	return c->h->o->command || !p->start_ns || p->start_ns > c->since_ns;
}

/* CPU time of the process since the last call, given all that it has used. */
static uint64_t used_since(struct costs *c, const struct proc *p, uint64_t now)
{
	bool known = map_get(&c->cpu, p->tgid);
	uint64_t *seen = map_put(&c->cpu, p->tgid);
	if (!seen)
		return 0;
	uint64_t then = known ? *seen : began_here(c, p) ? 0 : now;
	*seen = now;
	return now > then ? now - then : 0;
}

/* CPU time of all targets since the last call, those that have ended included. */
static double cpu_since(struct costs *c)
{
	const struct proc *p;
	uint64_t sum = c->cpu_ended_ns;
	c->cpu_ended_ns = 0;
	for (size_t i = 0; (p = catalog_next_proc(c->h->catalog, &i));) {
		uint64_t now;
		if (target_is_process(c->h->targets, p) && gauge_cpu_ns(p->tgid, &now))
			sum += used_since(c, p, now);
	}
	return (double)sum / 1e9;
}

static double took_s(const struct costs *c, const struct window_spent *s)
{
	return c->price->entry.cold_s * (double)s->traps + c->price->back.cold_s * (double)s->returns +
	       (double)s->sample_ns / 1e9;
}

/*
 * What probes that stay have taken since the last look. Those at collections stay in gaps, if at all: in a window or a stretch they
 * are a part of what that costs.
 */
static double kept_s(const struct costs *c, const struct window_spent *now, enum cost_of of)
{
	const struct window_spent *then = &c->spent, *until = now;
	if (probe_window_may_leave(c->h->probe))
		until = of == COST_WINDOW ? &c->opening : of == COST_STRETCH ? then : now;
	uint64_t traps = now->kept - then->kept + until->collections - then->collections;
	return c->price->entry.cold_s * (double)traps + (double)(until->collections_ns - then->collections_ns) / 1e9;
}

/* What attaching and detaching held up threads since the last look. Probes of one program hold up no other. */
static double stalled_s(const struct costs *c, const struct window_spent *now)
{
	const struct window_spent *then = &c->spent;
	size_t programs = target_count(c->h->targets);
	double of_one = programs ? (double)(now->came[1] - then->came[1]) / (double)programs : 0;
	return (double)(now->stalled_ns - then->stalled_ns) / 1e9 +
	       c->price->stall_s * ((double)(now->came[0] - then->came[0]) + of_one);
}

void costs_begin(struct costs *c, uint64_t now)
{
	map_free(&c->cpu);
	c->since_ns = c->noted_ns = now;
	/* What they have used so far. */
	cpu_since(c);
}

void costs_window_opens(struct costs *c)
{
	if (probe_window_spent(c->h->probe, &c->opening))
		c->opening = c->spent;
}

void costs_note(struct costs *c, uint64_t now, uint64_t in_ns, enum cost_of of)
{
	struct window_spent spent;
	if (probe_window_spent(c->h->probe, &spent))
		return;
	struct spending s = {
		.probes_s = took_s(c, &spent) - took_s(c, &c->spent),
		.kept_s = kept_s(c, &spent, of),
		.stalled_s = stalled_s(c, &spent),
		.cpu_s = cpu_since(c),
		.wall_s = (double)(now - c->noted_ns) / 1e9,
		.in_s = (double)in_ns / 1e9,
		.turn = of == COST_WINDOW,
	};
	budget_note(&c->budget, &s);
	c->spent = spent;
	c->noted_ns = now;
}

void costs_add_used(struct costs *c, const struct proc *p, uint64_t cpu_ns)
{
	c->cpu_ended_ns += used_since(c, p, cpu_ns);
}

void costs_forget(struct costs *c, uint32_t tgid)
{
	map_del(&c->cpu, tgid);
}

void costs_free(struct costs *c)
{
	map_free(&c->cpu);
}
