/* SPDX-License-Identifier: Apache-2.0 */
/* governor/windows: see windows.h. */
#include "governor/windows.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/text.h"
#include "base/vec.h"
#include "model/model.h"
#include "probe/window.h"
#include "governor/gauge.h"
#include "governor/turns.h"
#include "target/target.h"
#include "window/budget.h"
#include "window/ratio.h"
#include "window/schedule.h"

/* How often costs are measured while probes are attached. */
#define LOOK_NS 50000000ull
/* A process without a counter is checked again after 50 ms, 100 ms, and so on up to 3 s. */
#define FIND_TRIES 6
/* How often it is asked whether probes are detached: after a stretch, and after a window, which no other follows sooner. */
#define DETACHING_MS 5
#define CLOSING_NS 15000000ull
/* In a gap it is asked that soon whether probes at collections can leave, and then by and by less often. */
#define LEAVE_NS 5000000ull
/* Not that shortly before a window: to detach them takes some tens of milliseconds. */
#define LEAVE_ROOM_NS 50000000ull

enum state {
	ATTACHED,  /* probes are attached all the time */
	DETACHING, /* they are being detached after a stretch */
	GAP,
	WINDOW,  /* they are being attached, or a window is open */
	CLOSING, /* its window was reported, and they are being detached */
	LEAVING, /* a gap: probes at collections are being detached */
};

/* A process, and the gauge by which its windows are corrected. */
struct counting {
	struct proc_id proc;
	struct gauge gauge;
	double base;                   /* counted before the recording */
	double all;                    /* since then, at the last look */
	struct reading opened, closed; /* the same at start and end of the window */
	struct ratio ratio;
	bool probed; /* probes have taken any time of it */
};

struct windows {
	struct windows_config c;
	struct counting *procs; /* not changed during a turn */
	size_t procs_cnt, procs_cap;
	struct map places;  /* proc and kind of gauge -> place in procs, from 1 */
	struct map without; /* proc -> next time to look for a counter << 8 | number of attempts */
	struct schedule schedule;
	struct budget budget;     /* at prices of cold caches: it is a promise */
	struct stop_prices price; /* gauges take the warm ones: wrong prices harm most where programs do little but allocate */
	enum state state;
	struct window current;
	uint32_t current_us; /* from the end of the one before it, or of the stretch */
	bool inside;         /* `current` is set */
	uint64_t until_ns;   /* later events belong to the stretch after `current` */
	uint64_t due_ns, noted_ns, shut_ns, looked_ns, paused_ns;
	uint64_t leave_ns; /* in a gap: when it is asked next whether probes at collections can leave */
	bool finishing;    /* no turn begins */
	uint64_t covered_ns, begun_ns, in_ns;
	double put_in_s;                    /* recent time to attach probes */
	struct window_spent spent, opening; /* at the last look, and when the last window was to be opened */
	struct map cpu;                     /* tgid -> ns of CPU time at the last look */
	uint64_t cpu_ended_ns;              /* of processes that ended since, what is not in it */
	uint64_t since_ns;                  /* processes that began later are counted whole */
	bool ended;
	struct turns *turns;
};

static struct reading counted_by(const struct windows *w, struct counting *c)
{
	struct reading now = gauge_read(&c->gauge, w->c.h->probe, &w->price);
	now.value -= c->base;
	now.known &= c->gauge.by_cpu || now.value >= 0;
	return now;
}

/* At the ends of a window, on the thread of the turns. */
static void count_all(void *ctx, bool closed)
{
	struct windows *w = ctx;
	for (size_t i = 0; i < w->procs_cnt; i++) {
		struct counting *c = &w->procs[i];
		*(closed ? &c->closed : &c->opened) = counted_by(w, c);
	}
}

static int measure(struct windows *w, const struct windows_config *c, struct err *err)
{
	int rc = probe_window_price(c->h->probe, &w->price, err);
	if (rc)
		return rc;
	w->budget.max = c->percent / 100;
	w->turns = turns_new(c->h->probe, count_all, w, err);
	return w->turns ? 0 : -err->code;
}

struct windows *windows_new(const struct windows_config *c, struct err *err)
{
	struct windows *w = calloc(1, sizeof(*w));
	if (!w || measure(w, c, err)) {
		if (!w)
			err_set(err, ENOMEM, "out of memory");
		free(w);
		return NULL;
	}
	w->c = *c;
	if (getrandom(&w->schedule.random, sizeof(w->schedule.random), 0) < 0)
		w->schedule.random = now_ns();
	return w;
}

static bool is_there(const struct windows *w, const struct proc *p)
{
	return target_find(w->c.h->targets, p->tgid).n == p->id.n;
}

/* One that was gone before it was looked at has no time of its start: it began while others were looked at. */
static bool began_here(const struct windows *w, const struct proc *p)
{
	return w->c.h->o->command || !p->start_ns || p->start_ns > w->since_ns;
}

/* CPU time of the process since the last call, given all that it has used. */
static uint64_t used_since(struct windows *w, const struct proc *p, uint64_t now)
{
	bool known = map_get(&w->cpu, p->tgid);
	uint64_t *seen = map_put(&w->cpu, p->tgid);
	if (!seen)
		return 0;
	uint64_t then = known ? *seen : began_here(w, p) ? 0 : now;
	*seen = now;
	return now > then ? now - then : 0;
}

/* CPU time of all targets since the last call, those that have ended included. */
static double cpu_since(struct windows *w)
{
	const struct proc *p;
	uint64_t sum = w->cpu_ended_ns;
	w->cpu_ended_ns = 0;
	for (size_t i = 0; (p = catalog_next_proc(w->c.h->catalog, &i));) {
		uint64_t now;
		if (is_there(w, p) && gauge_cpu_ns(p->tgid, &now))
			sum += used_since(w, p, now);
	}
	return (double)sum / 1e9;
}

static double took_s(const struct windows *w, const struct window_spent *s)
{
	return w->price.entry.cold_s * (double)s->traps + w->price.back.cold_s * (double)s->returns + (double)s->sample_ns / 1e9;
}

/*
 * What probes that stay have taken since the last look. Those at collections stay in gaps, if at all: in a window or a stretch they
 * are a part of what that costs.
 */
static double kept_s(const struct windows *w, const struct window_spent *now)
{
	const struct window_spent *then = &w->spent, *until = now;
	if (probe_window_may_leave(w->c.h->probe))
		until = w->state == CLOSING ? &w->opening : w->state == ATTACHED || w->state == DETACHING ? then : now;
	uint64_t traps = now->kept - then->kept + until->collections - then->collections;
	return w->price.entry.cold_s * (double)traps + (double)(until->collections_ns - then->collections_ns) / 1e9;
}

/* What attaching and detaching held up threads since the last look. Probes of one program hold up no other. */
static double stalled_s(const struct windows *w, const struct window_spent *now)
{
	const struct window_spent *then = &w->spent;
	size_t programs = target_count(w->c.h->targets);
	double of_one = programs ? (double)(now->came[1] - then->came[1]) / (double)programs : 0;
	return (double)(now->stalled_ns - then->stalled_ns) / 1e9 +
	       w->price.stall_s * ((double)(now->came[0] - then->came[0]) + of_one);
}

static void note(struct windows *w, uint64_t now, uint64_t in_ns, bool turn)
{
	struct window_spent spent;
	if (probe_window_spent(w->c.h->probe, &spent))
		return;
	struct spending s = {
		.probes_s = took_s(w, &spent) - took_s(w, &w->spent),
		.kept_s = kept_s(w, &spent),
		.stalled_s = stalled_s(w, &spent),
		.cpu_s = cpu_since(w),
		.wall_s = (double)(now - w->noted_ns) / 1e9,
		.in_s = (double)in_ns / 1e9,
		.turn = turn,
	};
	budget_note(&w->budget, &s);
	w->spent = spent;
	w->noted_ns = now;
	w->in_ns += in_ns;
}

static uint64_t place_key(struct proc_id proc, bool by_cpu)
{
	return (uint64_t)proc.n << 1 | by_cpu;
}

static struct counting *counting_of(const struct windows *w, struct proc_id proc, bool by_cpu)
{
	const uint64_t *place = map_get(&w->places, place_key(proc, by_cpu));
	return place ? &w->procs[*place - 1] : NULL;
}

/* What a program before it in the same process had used by then, as was seen last; nothing is known: all so far. */
static double used_before(const struct windows *w, const struct proc *p, const struct gauge *g, double now)
{
	double base = now;
	for (size_t i = 0; i < w->procs_cnt; i++) {
		const struct counting *c = &w->procs[i];
		if (c->gauge.by_cpu == g->by_cpu && c->gauge.faults == g->faults && c->gauge.tgid == p->tgid)
			base = c->base + c->all;
	}
	return base;
}

/* One that was there before has counted before; so has a child whose parent had, but for what the kernel counts. */
static double base_of(const struct windows *w, const struct proc *p, const struct gauge *g, double now)
{
	bool ours = w->c.h->o->command || p->start_ns > w->begun_ns;
	if (!g->by_cpu && !g->faults)
		return p->generation || (!p->parent.n && ours) ? 0 : now;
	if (p->generation)
		return used_before(w, p, g, now);
	return (p->parent.n || ours) && now >= 0 ? 0 : now;
}

/* Most processes of a machine have no counter, and some load one later: checked less and less often. */
static bool is_due(struct windows *w, struct proc_id proc, uint64_t now)
{
	uint64_t *next = map_put(&w->without, proc.n);
	if (!next || *next >> 8 > now)
		return false;
	uint64_t tries = *next & 0xff, more = tries < FIND_TRIES ? tries + 1 : tries;
	*next = (now + (LOOK_NS << more)) << 8 | more;
	return true;
}

static void begin_counting(struct windows *w, const struct proc *p, struct proc_id heap, const struct gauge *gauge)
{
	struct counting c = { .proc = heap, .gauge = *gauge };
	struct reading now = gauge_read(&c.gauge, w->c.h->probe, &w->price);
	uint64_t key = place_key(heap, gauge->by_cpu), *place = now.known ? map_put(&w->places, key) : NULL;
	c.base = base_of(w, p, gauge, now.value);
	struct counting *new = place ? VEC_PUSH(w, procs) : NULL;
	if (!new) {
		map_del(&w->places, key);
		return;
	}
	if (w->state == ATTACHED)
		ratio_stretch_begins(&c.ratio, 0);
	*new = c;
	*place = w->procs_cnt;
}

/* Forgets ended processes, except for a trace, which needs their totals. */
static void forget_gone(struct windows *w)
{
	for (size_t i = 0; w->c.live && i < w->procs_cnt; i++) {
		const struct proc *p = catalog_proc(w->c.h->catalog, w->procs[i].proc);
		if (p && target_is_current(w->c.h->targets, p))
			continue;
		map_del(&w->places, place_key(w->procs[i].proc, w->procs[i].gauge.by_cpu));
		map_del(&w->without, w->procs[i].proc.n);
		struct counting last = w->procs[--w->procs_cnt];
		if (i == w->procs_cnt)
			break;
		*map_get(&w->places, place_key(last.proc, last.gauge.by_cpu)) = i + 1;
		w->procs[i--] = last;
	}
}

/* Limits the table, which keeps entries of ended processes. */
static void forget_old(struct windows *w)
{
	size_t most = 256 + 4 * target_count(w->c.h->targets);
	if (w->without.count > most)
		map_free(&w->without);
}

/* Less often if processes are many, and if there are no probes for windows. */
static uint64_t look_ns(const struct windows *w)
{
	uint64_t pace = 1 + target_count(w->c.h->targets) / 64;
	return LOOK_NS * (probe_window_links(w->c.h->probe) ? pace : pace * 4);
}

static void update_calls(struct windows *w, const struct proc *p, uint64_t when)
{
	struct gauge g = gauge_cpu(p);
	if (!counting_of(w, p->id, true))
		begin_counting(w, p, p->id, &g);
	if (!counting_of(w, p->id, false) && is_due(w, p->id, when) && gauge_bytes(w->c.h, w->c.attach, p, &g))
		begin_counting(w, p, p->id, &g);
}

static void update_proc(struct windows *w, const struct proc *p, uint64_t when)
{
	const struct proc_id pages = target_heap(w->c.h->targets, p->id, SUBJECT_PAGES);
	struct gauge g = gauge_faults(p);
	if (record_samples_calls(w->c.h->o))
		update_calls(w, p, when);
	if (record_has(w->c.h->o, SUBJECT_PAGES) && !counting_of(w, pages, false))
		begin_counting(w, p, pages, &g);
}

/* CPU time may seem to go back, where probes cost less than they were thought to. */
static void note_count(struct counting *c, const struct reading *now)
{
	if (now->known && (now->value > c->all || c->gauge.by_cpu))
		c->all = now->value;
	if (now->known)
		c->probed = now->probed;
}

void windows_add_used(struct windows *w, uint32_t tgid, uint64_t cpu_ns)
{
	const struct proc *p = w && w->since_ns ? catalog_proc(w->c.h->catalog, target_find(w->c.h->targets, tgid)) : NULL;
	struct counting *c = p ? counting_of(w, p->id, true) : NULL;
	if (p)
		w->cpu_ended_ns += used_since(w, p, cpu_ns);
	if (!c)
		return;
	struct reading last = gauge_used(&c->gauge, w->c.h->probe, &w->price, cpu_ns);
	last.value -= c->base;
	note_count(c, &last);
}

/* Finds new counters and reads all of them. Not during a turn. */
static void update_counts(struct windows *w)
{
	const struct proc *p;
	uint64_t when = now_ns();
	w->looked_ns = when;
	forget_gone(w);
	forget_old(w);
	for (size_t i = 0; (p = catalog_next_proc(w->c.h->catalog, &i));) {
		if (is_there(w, p))
			update_proc(w, p, when);
	}
	for (size_t i = 0; i < w->procs_cnt; i++) {
		struct reading now = counted_by(w, &w->procs[i]);
		note_count(&w->procs[i], &now);
	}
}

static void begin_gap(struct windows *w, uint64_t from, double mean_s)
{
	w->shut_ns = from;
	w->due_ns = from + (uint64_t)(1e9 * schedule_gap(&w->schedule, mean_s));
	w->leave_ns = from;
	w->state = GAP;
}

static void update_attached(struct windows *w, uint64_t now)
{
	if (now - w->noted_ns < look_ns(w))
		return;
	update_counts(w);
	note(w, now, now - w->noted_ns, false);
	if (w->finishing || !(budget_gap(&w->budget) > 0) || !probe_window_links(w->c.h->probe))
		return;
	update_counts(w);
	const struct turn t = { .interval_then = w->c.rate->interval, .begun_ns = now };
	if (turns_ask(w->turns, &t))
		w->state = DETACHING;
}

/* The interval may have changed during the turn. */
static void follow_rate(const struct windows *w, const struct turn *t)
{
	if (w->c.rate->interval != t->interval_then)
		probe_set_interval(w->c.h->probe, w->c.rate->interval);
}

static void update_detaching(struct windows *w)
{
	struct turn t = turns_now(w->turns);
	if (!t.done_ns)
		return;
	w->covered_ns += t.closed_ns - w->shut_ns;
	schedule_stretch(&w->schedule, t.closed_ns);
	for (size_t i = 0; i < w->procs_cnt; i++) {
		struct counting *c = &w->procs[i];
		note_count(c, &c->closed);
		ratio_stretch_ends(&c->ratio, c->all);
	}
	note(w, t.done_ns, t.done_ns - t.begun_ns, false);
	follow_rate(w, &t);
	begin_gap(w, t.closed_ns, budget_gap(&w->budget));
}

/* Gives as many samples as there would be without windows: each stands for the same number of bytes. */
static uint64_t interval_of(const struct windows *w, uint64_t now)
{
	double gap = (double)(now - w->shut_ns) + 1e9 * w->put_in_s;
	double share = (double)TURN_LENGTH_NS / ((double)TURN_LENGTH_NS + gap), bytes = (double)w->c.rate->interval * share;
	return bytes > 1 ? (uint64_t)bytes : 1;
}

/*
 * What windows sampled in collected heaps mostly dies at the next collection. From then on probes there would only cost, and a
 * small heap is collected hundreds of times a second.
 */
static bool leave(struct windows *w, uint64_t now)
{
	if (now < w->leave_ns)
		return false;
	bool room = now + LEAVE_ROOM_NS <= w->due_ns;
	w->leave_ns = room ? now + LEAVE_NS + (now - w->shut_ns) / 4 : w->due_ns;
	if (room && probe_window_may_leave(w->c.h->probe) && w->c.none_live(w->c.ctx) &&
	    turns_ask(w->turns, &(struct turn){ .leave = true }))
		w->state = LEAVING;
	return w->state == LEAVING;
}

static void update_leaving(struct windows *w)
{
	if (turns_now(w->turns).done_ns)
		w->state = GAP;
}

/* Records of the last window or stretch must be read from the ring before the next window is reported. */
static void update_gap(struct windows *w, uint64_t now)
{
	if (now - w->looked_ns >= look_ns(w)) {
		update_counts(w);
		probe_window_look(w->c.h->probe);
	}
	if (w->finishing || leave(w, now))
		return;
	if (now < w->due_ns || *w->c.read_ns <= w->shut_ns + TURN_COME_BACK_NS)
		return;
	struct turn t = { .window = true,
			  .stay = !(budget_gap(&w->budget) > 0),
			  .interval = interval_of(w, now),
			  .interval_then = w->c.rate->interval,
			  .begun_ns = now };
	if (probe_window_spent(w->c.h->probe, &w->opening))
		w->opening = w->spent;
	if (turns_ask(w->turns, &t))
		w->state = WINDOW;
}

/* CPU time counts for processes only that have met a probe, and not if their own counters are all that samples stand for. */
static bool is_probed(const struct windows *w, const struct counting *c)
{
	return !c->gauge.by_cpu || (c->probed && !(w->c.own_counters && counting_of(w, c->proc, false)));
}

/* By its CPU time a program seems to do nothing in windows where probes take all of it: its own counter knows better. */
static bool was_met(const struct windows *w, const struct counting *c)
{
	const struct counting *own = counting_of(w, c->proc, false);
	return own && own->ratio.met && !(ratio_missed(&own->ratio, own->all) > 0);
}

/* Of the current window, without what it stands for itself; with all that was counted so far. */
static struct event window_event(const struct windows *w, const struct counting *c)
{
	return (struct event){ .kind = EVENT_WINDOW,
			       .flags = c->gauge.by_cpu ? EVENT_F_BY_CPU : 0,
			       .proc = c->proc,
			       .time_ns = w->current.opened_ns,
			       .old_addr = w->current.closed_ns - w->current.opened_ns,
			       .enter_ns = w->c.live ? (uint64_t)ratio_unseen(&c->ratio, c->all) : 0,
			       .interval = w->c.live && is_probed(w, c)
						   ? (uint64_t)(WINDOW_UNMET_ONE * ratio_unmet(&c->ratio, c->all))
						   : 0,
			       .batch = w->current.group,
			       .span = w->current_us };
}

/* Reports what the window stands for in one process, by the process' own count. */
static void report_window_of(struct windows *w, struct counting *c, bool stay)
{
	double met = c->closed.value - c->opened.value;
	note_count(c, &c->closed);
	if (c->opened.known && c->closed.known && (met >= 0 || c->gauge.by_cpu)) {
		double size = ratio_window(&c->ratio, met, w->current.weight);
		struct event e = window_event(w, c);
		e.size = (uint64_t)(int64_t)size;
		e.addr = (uint64_t)(PRICE_UNSURE * (c->closed.traps - c->opened.traps) * w->current.weight);
		w->c.event(w->c.ctx, &e);
	}
	if (stay)
		ratio_stretch_begins(&c->ratio, c->all);
}

/* What was counted since the last window no other will stand for. A trace has its totals at the end anyway. */
static void report_rest_of(const struct windows *w, const struct counting *c)
{
	if (!w->c.live || !w->inside || !c->ratio.met)
		return;
	const struct event e = window_event(w, c);
	w->c.event(w->c.ctx, &e);
}

static void report_rests(const struct windows *w)
{
	for (size_t i = 0; i < w->procs_cnt; i++)
		report_rest_of(w, &w->procs[i]);
}

void windows_process_ends(struct windows *w, uint32_t tgid)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->procs_cnt; i++) {
		if (w->procs[i].gauge.tgid == tgid)
			report_rest_of(w, &w->procs[i]);
	}
	map_del(&w->cpu, tgid);
}

static void report_window(struct windows *w, const struct turn *t)
{
	w->current = schedule_window(&w->schedule, t->opened_ns, t->closed_ns);
	w->current_us = (uint32_t)((t->closed_ns - w->shut_ns) / 1000);
	w->inside = true;
	w->until_ns = t->stay ? t->closed_ns : UINT64_MAX;
	w->covered_ns += t->closed_ns - t->opened_ns;
	w->put_in_s += ((double)(t->opened_ns - t->begun_ns) / 1e9 - w->put_in_s) / 4;
	for (size_t i = 0; i < w->procs_cnt; i++)
		report_window_of(w, &w->procs[i], t->stay);
}

static void update_window(struct windows *w)
{
	struct turn t = turns_now(w->turns);
	if (!t.closed_ns)
		return;
	report_window(w, &t);
	w->shut_ns = t.closed_ns;
	w->state = CLOSING;
}

static void update_closing(struct windows *w)
{
	struct turn t = turns_now(w->turns);
	if (!t.done_ns)
		return;
	note(w, t.done_ns, t.done_ns - t.begun_ns, true);
	follow_rate(w, &t);
	if (t.stay)
		w->state = ATTACHED;
	else
		begin_gap(w, t.closed_ns, budget_gap(&w->budget));
}

bool windows_is_open(const struct windows *w)
{
	return w && !w->ended && !w->paused_ns && w->state == WINDOW;
}

bool windows_update(struct windows *w)
{
	uint64_t now = now_ns();
	if (!w || w->ended || w->paused_ns)
		return true;
	if (!w->begun_ns) {
		w->begun_ns = w->since_ns = w->noted_ns = w->shut_ns = now;
		update_counts(w);
		cpu_since(w);
	}
	switch (w->state) {
	case ATTACHED: update_attached(w, now); break;
	case DETACHING: update_detaching(w); break;
	case GAP: update_gap(w, now); break;
	case WINDOW: update_window(w); break;
	case CLOSING: update_closing(w); break;
	case LEAVING: update_leaving(w); break;
	}
	return !windows_is_open(w);
}

/* Sets the interval with which, without windows, a block of this size would be sampled as rarely. */
void windows_weigh(const struct windows *w, struct event *e)
{
	if (!(e->flags & EVENT_F_WINDOW))
		return;
	if (!w || !w->inside || e->time_ns > w->until_ns || e->time_ns < w->current.opened_ns) {
		e->flags &= (uint8_t)~EVENT_F_WINDOW;
		return;
	}
	uint64_t size = e->span ? e->span : e->size;
	e->interval = sample_interval(size, w->current.weight * sample_weight(size, e->interval));
}

/* Waits for the turn under way, and reports it. */
static void finish_turn(struct windows *w)
{
	turns_await(w->turns);
	w->finishing = true;
	windows_update(w);
	windows_update(w);
	w->finishing = false;
	update_counts(w);
	if (w->state == ATTACHED)
		w->covered_ns += now_ns() - w->shut_ns;
	note(w, now_ns(), w->state == ATTACHED ? now_ns() - w->noted_ns : 0, false);
}

void windows_pause(struct windows *w)
{
	if (!w || w->paused_ns || !w->begun_ns)
		return;
	finish_turn(w);
	report_rests(w);
	w->paused_ns = now_ns();
}

void windows_resume(struct windows *w)
{
	uint64_t now = now_ns();
	if (!w || !w->paused_ns)
		return;
	w->procs_cnt = 0;
	map_free(&w->places);
	map_free(&w->without);
	map_free(&w->cpu);
	w->inside = false;
	w->state = ATTACHED;
	w->begun_ns += now - w->paused_ns;
	w->since_ns = w->noted_ns = w->shut_ns = now;
	w->cpu_ended_ns = 0;
	w->paused_ns = 0;
	probe_window_attach(w->c.h->probe);
	probe_window_open(w->c.h->probe, w->c.rate->interval);
}

static void conclude(struct windows *w)
{
	finish_turn(w);
	w->ended = true;
	double spent = budget_spent(&w->budget), kept = budget_kept(&w->budget);
	char all[TEXT_PERCENT], stay[TEXT_PERCENT];
	if (kept > w->budget.max)
		log_warn("probes took %s of the CPU time, not %g %%: those that see frees, a collector without counter, or "
			 "collections while a sampled object lives, stay in, and took %s; --profile allocations leaves frees out",
			 text_percent(all, spent), 100 * w->budget.max, text_percent(stay, kept));
}

void windows_end(struct windows *w)
{
	if (!w || w->ended)
		return;
	conclude(w);
	report_rests(w);
}

void windows_free(struct windows *w)
{
	if (!w)
		return;
	if (!w->ended)
		conclude(w);
	turns_free(w->turns);
	map_free(&w->cpu);
	map_free(&w->places);
	map_free(&w->without);
	free(w->procs);
	free(w);
}

double windows_missed(const struct windows *w, bool by_cpu)
{
	double sum = 0;
	for (size_t i = 0; i < w->procs_cnt; i++) {
		const struct counting *c = &w->procs[i];
		if (c->gauge.by_cpu == by_cpu && is_probed(w, c) && !was_met(w, c))
			sum += ratio_missed(&c->ratio, c->all);
	}
	return sum;
}

static void add_number(struct buf *out, struct proc_id proc, double number)
{
	buf_addf(out, "%s%" PRIu32 ":%.6g", out->len ? " " : "", proc.n, number);
}

void windows_factors(const struct windows *w, bool by_cpu, struct buf *factors, struct buf *unmet)
{
	for (size_t i = 0; !w->c.live && i < w->procs_cnt; i++) {
		const struct counting *c = &w->procs[i];
		if (c->gauge.by_cpu != by_cpu)
			continue;
		add_number(factors, c->proc, ratio_factor(&c->ratio, c->all));
		if (is_probed(w, c) && ratio_unmet(&c->ratio, c->all) > 0)
			add_number(unmet, c->proc, ratio_unmet(&c->ratio, c->all));
	}
}

/* A stretch under way counts as covered until now. */
bool windows_facts(const struct windows *w, struct windows_facts *out)
{
	if (!w || !w->begun_ns)
		return false;
	uint64_t now = w->ended ? w->noted_ns : w->paused_ns ?: now_ns();
	double covered =
		(double)w->covered_ns + (w->state == ATTACHED && !w->ended && !w->paused_ns ? (double)(now - w->shut_ns) : 0);
	double lasted = now > w->begun_ns ? (double)(now - w->begun_ns) : 1;
	*out = (struct windows_facts){ .max = w->budget.max,
				       .spent = budget_spent(&w->budget),
				       .kept = budget_kept(&w->budget),
				       .late = budget_spent_late(&w->budget),
				       .covered = fmin(covered / lasted, 1),
				       .trap_s = w->price.entry.cold_s,
				       .windows = w->schedule.number };
	return true;
}

void windows_describe(const struct windows *w, struct buf *out)
{
	char spent[TEXT_PERCENT];
	struct windows_facts f;
	if (!windows_facts(w, &f))
		return;
	buf_addf(out, "%.3g %% of the time covered", 100 * f.covered);
	if (f.windows)
		buf_addf(out, ", in %" PRIu32 " window%s", f.windows, f.windows > 1 ? "s" : "");
	buf_addf(out, "; probes took %s of the programs' CPU time (%.3g s without them), at %.0f ns a stop",
		 text_percent(spent, f.spent), w->budget.cpu_s, 1e9 * f.trap_s);
	if (f.kept >= 0.0001)
		buf_addf(out, "; %s at probes that stay in", text_percent(spent, f.kept));
}

int windows_over_fd(const struct windows *w)
{
	return turns_over_fd(w->turns);
}

/* Of a gap. */
static uint64_t next_ns(const struct windows *w)
{
	uint64_t look = w->looked_ns + look_ns(w), first = w->due_ns < look ? w->due_ns : look;
	return w->leave_ns < first ? w->leave_ns : first;
}

static int ms_until(uint64_t then_ns)
{
	uint64_t now = now_ns();
	return then_ns > now ? (int)((then_ns - now) / 1000000) + 1 : 1;
}

int windows_wait_ms(const struct windows *w)
{
	if (!w || w->ended || w->paused_ns)
		return -1;
	switch (w->state) {
	case ATTACHED: return (int)(LOOK_NS / 1000000);
	case DETACHING:
	case LEAVING: return DETACHING_MS;
	case GAP: return ms_until(next_ns(w));
	case CLOSING: return ms_until(w->shut_ns + CLOSING_NS);
	default: return -1; /* until windows_over_fd is readable */
	}
}
