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
#include "base/text.h"
#include "model/model.h"
#include "probe/window.h"
#include "governor/costs.h"
#include "governor/counts.h"
#include "governor/turns.h"
#include "target/target.h"
#include "window/schedule.h"

/* How often costs are measured while probes are attached. */
#define LOOK_NS 50000000ull
/* In a gap it is asked that soon whether probes at collections can leave, and then by and by less often. */
#define LEAVE_NS 5000000ull
/* Not that shortly before a window: to detach them takes some tens of milliseconds. */
#define LEAVE_ROOM_NS 50000000ull
/* Windows after gaps of this mean length or more are the shortest ones. */
#define GAP_LONG_S 0.5
#define LENGTH_MIN_NS 5e6
#define LENGTH_MAX_NS 50e6

enum state {
	ATTACHED,  /* probes are attached all the time */
	DETACHING, /* they are being detached after a stretch */
	GAP,
	WINDOW,  /* they are being attached, or a window is open */
	CLOSING, /* its window was reported, and they are being detached */
	LEAVING, /* a gap: probes at collections are being detached */
};

struct windows {
	struct windows_config c;
	struct counts counts;
	struct costs costs;
	struct schedule schedule;
	struct stop_prices
		price; /* gauges begin with the warm ones: wrong prices harm most where programs do little but allocate */
	enum state state;
	struct window current;
	uint32_t current_us; /* from the end of the one before it, or of the stretch */
	bool inside;         /* `current` is set */
	uint64_t until_ns;   /* later events belong to the stretch after `current` */
	uint64_t due_ns, shut_ns, looked_ns, paused_ns;
	uint64_t leave_ns; /* in a gap: when it is asked next whether probes at collections can leave */
	bool finishing;    /* no turn begins */
	uint64_t covered_ns, begun_ns;
	double put_in_s; /* recent time to attach probes */
	bool ended;
	struct turns *turns;
};

/* On the thread of the turns. */
static void read_counts(void *ctx, bool closed)
{
	struct windows *w = ctx;
	counts_read(&w->counts, closed);
}

static int measure(struct windows *w, struct err *err)
{
	int rc = probe_window_price(w->c.h->probe, &w->price, err);
	if (rc)
		return rc;
	w->turns = turns_new(w->c.h->probe, read_counts, w, err);
	return w->turns ? 0 : -err->code;
}

static void prepare(struct windows *w, const struct windows_config *c)
{
	w->c = *c;
	w->counts = (struct counts){
		.h = c->h, .attach = c->attach, .price = &w->price, .own_counters = c->own_counters, .live = c->live
	};
	w->costs = (struct costs){ .h = c->h, .price = &w->price, .budget.max = c->percent / 100 };
	if (getrandom(&w->schedule.random, sizeof(w->schedule.random), 0) < 0)
		w->schedule.random = now_ns();
}

struct windows *windows_new(const struct windows_config *c, struct err *err)
{
	struct windows *w = calloc(1, sizeof(*w));
	if (!w) {
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	prepare(w, c);
	if (!measure(w, err))
		return w;
	free(w);
	return NULL;
}

/* Less often if processes are many, and if there are no probes for windows. */
static uint64_t look_ns(const struct windows *w)
{
	uint64_t pace = 1 + target_count(w->c.h->targets) / 64;
	return LOOK_NS * (probe_window_links(w->c.h->probe) ? pace : pace * 4);
}

void windows_add_used(struct windows *w, uint32_t tgid, uint64_t cpu_ns)
{
	const struct proc *p = w && w->begun_ns ? catalog_proc(w->c.h->catalog, target_find(w->c.h->targets, tgid)) : NULL;
	if (!p)
		return;
	costs_add_used(&w->costs, p, cpu_ns);
	counts_add_used(&w->counts, p, cpu_ns);
}

/* Not during a turn. */
static void look(struct windows *w)
{
	w->looked_ns = now_ns();
	counts_update(&w->counts, w->state == ATTACHED);
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
	if (now - w->costs.noted_ns < look_ns(w))
		return;
	look(w);
	costs_note(&w->costs, now, now - w->costs.noted_ns, COST_STRETCH);
	if (w->finishing || !(budget_gap(&w->costs.budget) > 0) || !probe_window_links(w->c.h->probe))
		return;
	look(w);
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
	for (size_t i = 0; i < w->counts.procs_cnt; i++) {
		struct proc_count *c = &w->counts.procs[i];
		counts_note_closed(c);
		/* It may have ended since. */
		ratio_stretch_ends(&c->ratio, c->closed.known ? c->closed.value : c->all);
	}
	costs_note(&w->costs, t.done_ns, t.done_ns - t.begun_ns, COST_STRETCH);
	follow_rate(w, &t);
	begin_gap(w, t.closed_ns, budget_gap(&w->costs.budget));
}

/*
 * Short ones say most where gaps are long. Where they are short, attaching and detaching, which takes some tens of milliseconds, would
 * be most of what is spent: with many processes, more than the windows.
 */
static uint64_t length_of(const struct windows *w)
{
	double length = LENGTH_MIN_NS * GAP_LONG_S / w->schedule.mean_s;
	return (uint64_t)fmin(fmax(length, LENGTH_MIN_NS), LENGTH_MAX_NS);
}

/* Gives as many samples as there would be without windows: each stands for the same number of bytes. */
static uint64_t interval_of(const struct windows *w, uint64_t now, double length)
{
	double gap = (double)(now - w->shut_ns) + 1e9 * w->put_in_s;
	double share = length / (length + gap), bytes = (double)w->c.rate->interval * share;
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
		look(w);
		probe_window_look(w->c.h->probe);
	}
	if (w->finishing || leave(w, now))
		return;
	if (now < w->due_ns || *w->c.read_ns <= w->shut_ns + TURN_COME_BACK_NS)
		return;
	uint64_t length = length_of(w);
	struct turn t = { .window = true,
			  .stay = !(budget_gap(&w->costs.budget) > 0),
			  .length_ns = length,
			  .interval = interval_of(w, now, (double)length),
			  .interval_then = w->c.rate->interval,
			  .begun_ns = now };
	costs_window_opens(&w->costs);
	if (turns_ask(w->turns, &t))
		w->state = WINDOW;
}

/* Of the current window, without what it stands for itself; with all that was counted so far. */
static struct event window_event(const struct windows *w, const struct proc_count *c)
{
	return (struct event){ .kind = EVENT_WINDOW,
			       .flags = c->gauge.by_cpu ? EVENT_F_BY_CPU : 0,
			       .proc = c->proc,
			       .time_ns = w->current.opened_ns,
			       .old_addr = w->current.closed_ns - w->current.opened_ns,
			       .enter_ns = w->c.live ? (uint64_t)ratio_unseen(&c->ratio, c->all) : 0,
			       .interval = w->c.live && counts_is_probed(&w->counts, c)
						   ? (uint64_t)(WINDOW_UNMET_ONE * ratio_unmet(&c->ratio, c->all))
						   : 0,
			       .batch = w->current.group,
			       .span = w->current_us };
}

/* For the gap before the current window. */
static bool others_stand_for_it(const struct proc_count *c)
{
	return ratio_has_met(&c->ratio) && !(ratio_missed(&c->ratio, c->opened.value) > 0);
}

/* Reports what the window stands for in one process, by the process' own count. */
static void report_window_of(struct windows *w, struct proc_count *c, bool stay)
{
	double traps = c->closed.traps - c->opened.traps, own = c->closed.value - c->opened.value;
	double cold = gauge_cold(&w->price, own, traps), met = own - cold;
	bool known = c->closed.known && (met >= 0 || c->gauge.by_cpu);
	if (c->opened.known && !known && others_stand_for_it(c))
		counts_cut(c);
	else
		counts_note_closed(c);
	if (c->opened.known && known) {
		double size = ratio_window(&c->ratio, met, w->current.weight);
		struct event e = window_event(w, c);
		e.size = (uint64_t)(int64_t)size;
		e.addr = (uint64_t)(PRICE_UNSURE * (traps + cold) * w->current.weight);
		w->c.event(w->c.ctx, &e);
	}
	if (stay)
		ratio_stretch_begins(&c->ratio, c->all);
}

/* What was counted since the last window no other will stand for. A trace has its totals at the end anyway. */
static void report_rest_of(const struct windows *w, const struct proc_count *c)
{
	if (!w->c.live || !w->inside || !ratio_has_met(&c->ratio))
		return;
	const struct event e = window_event(w, c);
	w->c.event(w->c.ctx, &e);
}

static void report_rests(const struct windows *w)
{
	for (size_t i = 0; i < w->counts.procs_cnt; i++)
		report_rest_of(w, &w->counts.procs[i]);
}

void windows_process_ends(struct windows *w, uint32_t tgid)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->counts.procs_cnt; i++) {
		if (w->counts.procs[i].gauge.tgid == tgid)
			report_rest_of(w, &w->counts.procs[i]);
	}
	costs_forget(&w->costs, tgid);
}

static void report_window(struct windows *w, const struct turn *t)
{
	w->current = schedule_window(&w->schedule, t->opened_ns, t->closed_ns);
	w->current_us = (uint32_t)((t->closed_ns - w->shut_ns) / 1000);
	w->inside = true;
	w->until_ns = t->stay ? t->closed_ns : UINT64_MAX;
	w->covered_ns += t->closed_ns - t->opened_ns;
	w->put_in_s += ((double)(t->opened_ns - t->begun_ns) / 1e9 - w->put_in_s) / 4;
	for (size_t i = 0; i < w->counts.procs_cnt; i++)
		report_window_of(w, &w->counts.procs[i], t->stay);
}

static void update_closing(struct windows *w)
{
	struct turn t = turns_now(w->turns);
	if (!t.done_ns)
		return;
	costs_note(&w->costs, t.done_ns, t.done_ns - t.begun_ns, COST_WINDOW);
	follow_rate(w, &t);
	if (t.stay)
		w->state = ATTACHED;
	else
		begin_gap(w, t.closed_ns, budget_gap(&w->costs.budget));
}

static void update_window(struct windows *w)
{
	struct turn t = turns_now(w->turns);
	if (!t.closed_ns)
		return;
	report_window(w, &t);
	w->shut_ns = t.closed_ns;
	w->state = CLOSING;
	update_closing(w); /* what tells that they are detached may have been read here */
}

static void begin(struct windows *w, uint64_t now)
{
	counts_begin(&w->counts, now);
	costs_begin(&w->costs, now);
	look(w);
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
		w->begun_ns = w->shut_ns = now;
		begin(w, now);
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

static bool was_cut(const struct windows *w, const struct event *e)
{
	const struct proc_count *c = counts_of(&w->counts, e->proc, e->flags & EVENT_F_BY_CPU);
	return c && c->cut;
}

/* Sets the interval with which, without windows, a block of this size would be sampled as rarely. */
void windows_weigh(const struct windows *w, struct event *e)
{
	if (!(e->flags & EVENT_F_WINDOW))
		return;
	if (!w || !w->inside || e->time_ns > w->until_ns || e->time_ns < w->current.opened_ns || was_cut(w, e)) {
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
	look(w);
	uint64_t now = now_ns();
	bool attached = w->state == ATTACHED;
	costs_note(&w->costs, now, attached ? now - w->costs.noted_ns : 0, attached ? COST_STRETCH : COST_GAP);
	w->covered_ns += attached ? now - w->shut_ns : 0;
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
	counts_begin(&w->counts, now);
	costs_begin(&w->costs, now);
	w->inside = false;
	w->state = ATTACHED;
	w->begun_ns += now - w->paused_ns;
	w->shut_ns = now;
	w->paused_ns = 0;
	probe_window_attach(w->c.h->probe);
	probe_window_open(w->c.h->probe, w->c.rate->interval);
}

static void conclude(struct windows *w)
{
	finish_turn(w);
	w->ended = true;
	double spent = budget_spent(&w->costs.budget), kept = budget_kept(&w->costs.budget);
	char all[TEXT_PERCENT], stay[TEXT_PERCENT];
	if (kept > w->costs.budget.max)
		log_warn("probes took %s of the CPU time, not %g %%: those that see frees, a collector without counter, or "
			 "collections while a sampled object lives, stay in, and took %s; --profile allocations leaves frees out",
			 text_percent(all, spent), 100 * w->costs.budget.max, text_percent(stay, kept));
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
	costs_free(&w->costs);
	counts_free(&w->counts);
	free(w);
}

double windows_missed(const struct windows *w, bool by_cpu)
{
	return counts_missed(&w->counts, by_cpu);
}

void windows_factors(const struct windows *w, bool by_cpu, struct buf *factors, struct buf *unmet)
{
	if (!w->c.live)
		counts_factors(&w->counts, by_cpu, factors, unmet);
}

/* A stretch under way counts as covered until now. */
bool windows_facts(const struct windows *w, struct windows_facts *out)
{
	if (!w || !w->begun_ns)
		return false;
	uint64_t now = w->ended ? w->costs.noted_ns : w->paused_ns ?: now_ns();
	double covered =
		(double)w->covered_ns + (w->state == ATTACHED && !w->ended && !w->paused_ns ? (double)(now - w->shut_ns) : 0);
	double lasted = now > w->begun_ns ? (double)(now - w->begun_ns) : 1;
	*out = (struct windows_facts){ .max = w->costs.budget.max,
				       .spent = budget_spent(&w->costs.budget),
				       .kept = budget_kept(&w->costs.budget),
				       .late = budget_spent_late(&w->costs.budget),
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
		 text_percent(spent, f.spent), w->costs.budget.cpu_s, 1e9 * f.trap_s);
	if (f.kept >= 0.0001)
		buf_addf(out, "; %s at probes that stay in", text_percent(spent, f.kept));
}

int windows_fd(const struct windows *w)
{
	return w ? turns_fd(w->turns) : -1;
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
	case GAP: return ms_until(next_ns(w));
	default: return -1; /* until windows_fd is readable */
	}
}
