/* SPDX-License-Identifier: Apache-2.0 */
/* governor/counts: see counts.h. */
#include "governor/counts.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/vec.h"
#include "target/target.h"

/* A process without a counter is checked again after 50 ms, 100 ms, and so on up to 3 s. */
#define FIND_NS 50000000ull
#define FIND_TRIES 6

static struct reading counted_by(const struct counts *s, struct proc_count *c)
{
	struct reading now = gauge_read(&c->gauge, s->h->probe, s->price);
	now.value -= c->base;
	now.known &= c->gauge.by_cpu || now.value >= 0;
	return now;
}

void counts_read(struct counts *s, bool closed)
{
	for (size_t i = 0; i < s->procs_cnt; i++) {
		struct proc_count *c = &s->procs[i];
		*(closed ? &c->closed : &c->opened) = counted_by(s, c);
	}
}

static uint64_t place_key(struct proc_id proc, bool by_cpu)
{
	return (uint64_t)proc.n << 1 | by_cpu;
}

struct proc_count *counts_of(const struct counts *s, struct proc_id proc, bool by_cpu)
{
	const uint64_t *place = map_get(&s->places, place_key(proc, by_cpu));
	return place ? &s->procs[*place - 1] : NULL;
}

/* What a program before it in the same process had used by then, as was seen last; nothing is known: all so far. */
static double used_before(const struct counts *s, const struct proc *p, const struct gauge *g, double now)
{
	double base = now;
	for (size_t i = 0; i < s->procs_cnt; i++) {
		const struct proc_count *c = &s->procs[i];
		if (c->gauge.by_cpu == g->by_cpu && c->gauge.faults == g->faults && c->gauge.tgid == p->tgid)
			base = c->base + c->all;
	}
	return base;
}

/* One that was there before has counted before; so has a child whose parent had, but for what the kernel counts. */
static double base_of(const struct counts *s, const struct proc *p, const struct gauge *g, double now)
{
	bool ours = s->h->o->command || p->start_ns > s->since_ns;
	if (!g->by_cpu && !g->faults)
		return p->generation || (!p->parent.n && ours) ? 0 : now;
	if (p->generation)
		return used_before(s, p, g, now);
	return (p->parent.n || ours) && now >= 0 ? 0 : now;
}

/* Most processes of a machine have no counter, and some load one later: checked less and less often. */
static bool is_due(struct counts *s, struct proc_id proc, uint64_t now)
{
	uint64_t *next = map_put(&s->without, proc.n);
	if (!next || *next >> 8 > now)
		return false;
	uint64_t tries = *next & 0xff, more = tries < FIND_TRIES ? tries + 1 : tries;
	*next = (now + (FIND_NS << more)) << 8 | more;
	return true;
}

/* CPU time may seem to go back, where probes cost less than they were thought to. */
static void note(struct proc_count *c, const struct reading *now)
{
	if (!now->known && now->timed)
		pace_note_gone(&c->pace, now->own_ns);
	if (!now->known || c->ended)
		return;
	if (now->timed && !c->gauge.by_cpu)
		pace_note(&c->pace, now->value, now->own_ns);
	if (now->value > c->all || c->gauge.by_cpu)
		c->all = now->value;
	c->probed = now->probed;
	c->cut = false;
}

static void begin(struct counts *s, const struct proc *p, struct proc_id heap, const struct gauge *gauge, bool stretch)
{
	struct proc_count c = { .proc = heap, .gauge = *gauge };
	struct reading now = gauge_read(&c.gauge, s->h->probe, s->price);
	uint64_t key = place_key(heap, gauge->by_cpu), *place = now.known ? map_put(&s->places, key) : NULL;
	c.base = base_of(s, p, gauge, now.value);
	now.value -= c.base;
	note(&c, &now);
	struct proc_count *new = place ? VEC_PUSH(s, procs) : NULL;
	if (!new) {
		map_del(&s->places, key);
		return;
	}
	if (stretch)
		ratio_stretch_begins(&c.ratio, 0);
	*new = c;
	*place = s->procs_cnt;
}

/* Forgets ended processes, except for a trace, which needs their totals. */
static void forget_gone(struct counts *s)
{
	for (size_t i = 0; s->live && i < s->procs_cnt; i++) {
		const struct proc *p = catalog_proc(s->h->catalog, s->procs[i].proc);
		if (p && target_is_current(s->h->targets, p))
			continue;
		map_del(&s->places, place_key(s->procs[i].proc, s->procs[i].gauge.by_cpu));
		map_del(&s->without, s->procs[i].proc.n);
		struct proc_count last = s->procs[--s->procs_cnt];
		if (i == s->procs_cnt)
			break;
		*map_get(&s->places, place_key(last.proc, last.gauge.by_cpu)) = i + 1;
		s->procs[i--] = last;
	}
}

/* Limits the table, which keeps entries of ended processes. */
static void forget_old(struct counts *s)
{
	size_t most = 256 + 4 * target_count(s->h->targets);
	if (s->without.count > most)
		map_free(&s->without);
}

static void find_calls(struct counts *s, const struct proc *p, uint64_t when, bool stretch)
{
	struct gauge g = gauge_cpu(p);
	if (!counts_of(s, p->id, true))
		begin(s, p, p->id, &g, stretch);
	if (!counts_of(s, p->id, false) && is_due(s, p->id, when) && gauge_bytes(s->h, s->attach, p, &g))
		begin(s, p, p->id, &g, stretch);
}

static void find_of(struct counts *s, const struct proc *p, uint64_t when, bool stretch)
{
	const struct proc_id pages = target_heap(s->h->targets, p->id, SUBJECT_PAGES);
	struct gauge g = gauge_faults(p);
	if (record_samples_calls(s->h->o))
		find_calls(s, p, when, stretch);
	if (record_has(s->h->o, SUBJECT_PAGES) && !counts_of(s, pages, false))
		begin(s, p, pages, &g, stretch);
}

void counts_note_closed(struct proc_count *c)
{
	note(c, &c->closed);
}

void counts_cut(struct proc_count *c)
{
	note(c, &c->opened);
	note(c, &c->closed);
	c->cut = true;
}

/* Page faults can be read until the process is reaped; nothing else is left of it. */
static struct reading at_end(const struct counts *s, struct proc_count *c, uint64_t cpu_ns)
{
	if (c->gauge.faults)
		return counted_by(s, c);
	struct reading last = gauge_used(&c->gauge, s->h->probe, s->price, cpu_ns);
	last.value = c->gauge.by_cpu ? last.value - c->base : c->all + pace_more(&c->pace, last.own_ns);
	return last;
}

static void note_end(const struct counts *s, struct proc_count *c, uint64_t cpu_ns)
{
	if (!c || c->ended)
		return;
	struct reading last = at_end(s, c, cpu_ns);
	bool cut = c->cut;
	note(c, &last);
	c->ended = true;
	if (!cut)
		return;
	ratio_stretch_begins(&c->ratio, c->opened.value);
	ratio_stretch_ends(&c->ratio, c->all);
}

void counts_add_used(struct counts *s, const struct proc *p, uint64_t cpu_ns)
{
	struct proc_id pages = target_heap(s->h->targets, p->id, SUBJECT_PAGES);
	note_end(s, counts_of(s, p->id, true), cpu_ns);
	note_end(s, counts_of(s, p->id, false), cpu_ns);
	if (pages.n != p->id.n)
		note_end(s, counts_of(s, pages, false), cpu_ns);
}

void counts_update(struct counts *s, bool stretch)
{
	const struct proc *p;
	uint64_t when = now_ns();
	forget_gone(s);
	forget_old(s);
	for (size_t i = 0; (p = catalog_next_proc(s->h->catalog, &i));) {
		if (target_is_process(s->h->targets, p))
			find_of(s, p, when, stretch);
	}
	for (size_t i = 0; i < s->procs_cnt; i++) {
		struct reading now = counted_by(s, &s->procs[i]);
		note(&s->procs[i], &now);
	}
}

bool counts_is_probed(const struct counts *s, const struct proc_count *c)
{
	return !c->gauge.by_cpu || (c->probed && !(s->own_counters && counts_of(s, c->proc, false)));
}

static void clear(struct counts *s)
{
	s->procs_cnt = 0;
	map_free(&s->places);
	map_free(&s->without);
}

void counts_begin(struct counts *s, uint64_t now)
{
	clear(s);
	s->since_ns = now;
}

void counts_free(struct counts *s)
{
	clear(s);
	free(s->procs);
}

/* By its CPU time a program seems to do nothing in windows where probes take all of it: its own counter knows better. */
static bool was_met(const struct counts *s, const struct proc_count *c)
{
	const struct proc_count *own = counts_of(s, c->proc, false);
	return own && ratio_has_met(&own->ratio) && !(ratio_missed(&own->ratio, own->all) > 0);
}

double counts_missed(const struct counts *s, bool by_cpu)
{
	double sum = 0;
	for (size_t i = 0; i < s->procs_cnt; i++) {
		const struct proc_count *c = &s->procs[i];
		if (c->gauge.by_cpu == by_cpu && counts_is_probed(s, c) && !was_met(s, c))
			sum += ratio_missed(&c->ratio, c->all);
	}
	return sum;
}

static void add_number(struct buf *out, struct proc_id proc, double number)
{
	buf_addf(out, "%s%" PRIu32 ":%.6g", out->len ? " " : "", proc.n, number);
}

void counts_factors(const struct counts *s, bool by_cpu, struct buf *factors, struct buf *unmet)
{
	for (size_t i = 0; i < s->procs_cnt; i++) {
		const struct proc_count *c = &s->procs[i];
		if (c->gauge.by_cpu != by_cpu)
			continue;
		add_number(factors, c->proc, ratio_factor(&c->ratio, c->all));
		if (counts_is_probed(s, c) && ratio_unmet(&c->ratio, c->all) > 0)
			add_number(unmet, c->proc, ratio_unmet(&c->ratio, c->all));
	}
}
