/* SPDX-License-Identifier: Apache-2.0 */
/* monitor/profile_requests: see profile_requests.h. */
#include "monitor/profile_requests.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/vec.h"
#include "format/sink.h"
#include "naming/subset.h"
#include "recorder/metadata.h"
#include "sink/registry.h"
#include "trace/trace.h"

#define WAITING_MAX 1024
/* Longest time spent on profiles in a turn: the ring buffer is not read meanwhile, and 500 processes take seconds. */
#define TURN_NS 20000000ull

struct waiting {
	struct profile_request r;
	const struct sink_ops *sink;
	struct snapshot *snapshot;
	struct buf events;      /* struct event of each live block, for event-based formats */
	uint32_t stacks_cnt;    /* number of stacks at the time of the request: these are to be symbolized */
	struct account account; /* of the requested process */
	uint64_t begun_ns, asked_ns;
};

struct profiles {
	struct live *live;
	const struct heaps *heaps;
	struct naming *naming;
	const struct skip *skip;
	struct waiting **queue;
	size_t queue_cnt, queue_cap;
};

struct profiles *profiles_new(struct live *l, const struct heaps *h, struct naming *n, const struct skip *skip)
{
	struct profiles *p = calloc(1, sizeof(*p));
	if (p)
		*p = (struct profiles){ .live = l, .heaps = h, .naming = n, .skip = skip };
	return p;
}

static void waiting_free(struct waiting *w)
{
	if (!w)
		return;
	snapshot_free(w->snapshot);
	buf_free(&w->events);
	free(w);
}

static void cancel(struct waiting *w, const char *why)
{
	struct err err = { 0 };
	int rc = err_set(&err, ECANCELED, "%s", why);
	w->r.done(w->r.ctx, rc, NULL, &err);
	waiting_free(w);
}

void profiles_free(struct profiles *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->queue_cnt; i++)
		cancel(p->queue[i], "the daemon ends");
	free(p->queue);
	free(p);
}

void profiles_forget(struct profiles *p, const void *caller)
{
	size_t kept = 0;
	for (size_t i = 0; i < p->queue_cnt; i++) {
		if (p->queue[i]->r.caller == caller)
			cancel(p->queue[i], "nobody waits for it");
		else
			p->queue[kept++] = p->queue[i];
	}
	p->queue_cnt = kept;
}

size_t profiles_waiting(const struct profiles *p)
{
	return p->queue_cnt;
}

static void put_number(struct catalog *c, const char *key, uint64_t n)
{
	char text[32];
	snprintf(text, sizeof(text), "%" PRIu64, n);
	catalog_put_meta(c, key, text);
}

/* With name and start time, as the pid may be reused before the profile is read. */
static void put_process(const struct profiles *p, struct catalog *c, struct proc_id id)
{
	const struct proc *proc = catalog_proc(p->live->h.catalog, id);
	struct buf text = { 0 };
	if (!proc)
		return;
	buf_addf(&text, "%u (", proc->tgid);
	text_clean(&text, proc->comm ?: "", SIZE_MAX);
	buf_adds(&text, "), which began at ");
	text_moment(&text, proc->start_ns);
	catalog_put_meta(c, "of_process", buf_str(&text));
	buf_free(&text);
}

/* The period that the profile covers, and why recording ended or is off. */
static void put_window(const struct profiles *p, struct catalog *c, const struct waiting *w)
{
	struct trace_clock now = trace_clock_now();
	put_number(c, "start_mono_ns", w->begun_ns);
	put_number(c, "start_real_ns", now.real_ns - (now.mono_ns - w->begun_ns));
	put_number(c, "end_mono_ns", w->asked_ns);
	if (w->r.rows_max && w->snapshot->n == w->r.rows_max)
		put_number(c, "stacks_max", w->r.rows_max);
	put_process(p, c, w->r.proc);
	if (w->r.cause)
		catalog_put_meta(c, "ended", w->r.cause);
	if (!p->live->tracker)
		catalog_put_meta(c, "tracing", "off");
}

/* A profile of one process has that process's ledger, and the whole recording's as text. */
static void put_account(struct subset *part, const struct waiting *w)
{
	struct buf whole = { 0 };
	if (!w->r.proc.n) {
		subset_counts(part);
		return;
	}
	catalog_ledger_text(part->from, &whole);
	part->failed |= whole.failed || catalog_put_meta(part->to, "whole_ledger", buf_str(&whole)) ||
			account_put(&w->account, part->to);
	buf_free(&whole);
}

/* Copies only what the profile refers to: it must not disclose modules of other processes. */
static struct catalog *part_of(const struct profiles *p, const struct waiting *w)
{
	struct subset part = { .from = p->live->h.catalog, .to = catalog_new() };
	if (!part.to)
		return NULL;
	subset_meta(&part);
	put_account(&part, w);
	subset_proc(&part, w->r.proc);
	for (size_t i = 0; i < w->snapshot->n; i++) {
		const struct stack *s = catalog_stack(part.from, w->snapshot->rows[i].stack);
		subset_proc(&part, w->snapshot->rows[i].proc);
		if (s)
			subset_stack(&part, s);
	}
	put_window(p, part.to, w);
	const struct proc *one = catalog_proc(part.from, w->r.proc);
	uint8_t subject = one ? one->subject : w->r.subject;
	if (subject)
		catalog_show(part.to, (enum subject)subject);
	if (!part.failed)
		return part.to;
	catalog_free(part.to);
	return NULL;
}

static int take(void *ctx, const void *bytes, size_t n)
{
	struct buf *out = ctx;
	buf_add(out, bytes, n);
	return out->failed ? -ENOMEM : 0;
}

static int keep_event(void *ctx, const struct event *e)
{
	struct buf *out = ctx;
	buf_add(out, e, sizeof(*e));
	return out->failed ? -ENOMEM : 0;
}

/* Replays the allocations of the live blocks, for event-based formats. */
static int give_events(const struct waiting *w, const struct sink_input *in, struct sink_out *out, struct err *err)
{
	void *state = NULL;
	struct applied done;
	struct heap *h = heap_new();
	struct sink_input with = *in;
	with.heap = h;
	int rc = h ? w->sink->begin(&with, out, &state, err) : err_set(err, ENOMEM, "out of memory");
	for (size_t at = 0; !rc && at + sizeof(struct event) <= w->events.len; at += sizeof(struct event)) {
		struct event e;
		memcpy(&e, w->events.data + at, sizeof(e));
		rc = heap_apply(h, &e, &done);
		rc = rc ? rc : w->sink->event(state, &e, &done, err);
	}
	if (state) {
		int ended = w->sink->end(state, err);
		rc = rc ? rc : ended;
	}
	heap_free(h);
	return rc;
}

static int render(const struct profiles *p, const struct waiting *w, struct buf *bytes, struct err *err)
{
	struct sink_options o = { .value = w->r.value, .moment = w->r.moment, .skip = p->skip };
	struct sink_input in = { .catalog = part_of(p, w), .snapshot = w->snapshot, .options = &o };
	struct sink_out out = { .write = take, .ctx = bytes };
	if (!in.catalog)
		return err_set(err, ENOMEM, "out of memory");
	int rc = w->sink->render ? w->sink->render(&in, &out, err) : give_events(w, &in, &out, err);
	catalog_free((struct catalog *)(uintptr_t)in.catalog);
	return rc;
}

static void answer(const struct profiles *p, struct waiting *w)
{
	struct err err = { 0 };
	struct buf out = { 0 };
	int rc = render(p, w, &out, &err);
	w->r.done(w->r.ctx, rc, &out, &err);
	buf_free(&out);
	waiting_free(w);
}

static struct account account_of(const struct profiles *p, const struct waiting *w, const struct heap_of *one)
{
	const struct proc *proc = catalog_proc(p->live->h.catalog, w->r.proc);
	struct account now = account_read(p->live->h.probe, proc ? proc->tgid : 0, one ? one->events : 0);
	bool from_mark = w->r.since && heap_mark_is_of(w->r.since, w->r.proc);
	return from_mark ? account_since(&now, heap_mark_account(w->r.since)) : now;
}

static int capture(const struct profiles *p, struct waiting *w)
{
	const struct heaps *h = p->heaps;
	const struct heap_of *one = heaps_get(h, w->r.proc);
	w->snapshot = one ? heaps_snapshot(h, w->r.proc, w->r.since, w->r.rows_max)
			  : heaps_snapshot_all(h, w->r.subject, w->r.since, w->r.rows_max);
	w->stacks_cnt = live_stacks(p->live);
	w->asked_ns = now_ns();
	w->begun_ns = w->r.since ? heap_mark_time(w->r.since) : one ? one->begun_ns : p->live->started_ns;
	w->account = account_of(p, w, one);
	w->r.since = NULL;
	int rc = w->snapshot ? 0 : -ENOMEM;
	for (size_t i = 0; !rc && !w->sink->render && i < h->at_cnt; i++) {
		if (one ? h->at[i] == one : h->at[i]->subject == w->r.subject)
			rc = heap_each_live(h->at[i]->heap, keep_event, &w->events);
	}
	return rc;
}

static bool is_named(const struct profiles *p, const struct waiting *w)
{
	return naming_reached(p->naming) >= w->stacks_cnt;
}

/* Answers at least one. True if the time was up before all that were ready had been answered. */
static bool answer_some(struct profiles *p, bool all, uint64_t until_ns)
{
	size_t kept = 0, i = 0;
	bool over = false;
	for (; i < p->queue_cnt && !over; i++) {
		if (!all && !is_named(p, p->queue[i])) {
			p->queue[kept++] = p->queue[i];
			continue;
		}
		answer(p, p->queue[i]);
		over = until_ns != UINT64_MAX && now_ns() >= until_ns;
	}
	bool more = i < p->queue_cnt;
	while (i < p->queue_cnt)
		p->queue[kept++] = p->queue[i++];
	p->queue_cnt = kept;
	return more;
}

int profiles_ask(struct profiles *p, const struct profile_request *r, struct err *err)
{
	struct err why;
	const struct sink_ops *sink = sink_find(r->format);
	if (!sink)
		return err_set(err, EINVAL, "no format \"%s\": `alys-bpf convert --help` lists them", r->format);
	if (r->proc.n && !heaps_get(p->heaps, r->proc))
		return err_set(err, ESRCH, "nothing is known of this process yet");
	if (p->queue_cnt >= WAITING_MAX)
		answer_some(p, false, UINT64_MAX);
	if (p->queue_cnt >= WAITING_MAX)
		return err_set(err, EBUSY, "too many profiles are waiting for symbols");
	struct waiting *w = calloc(1, sizeof(*w));
	struct waiting **slot = w ? VEC_PUSH(p, queue) : NULL;
	if (slot) {
		w->r = *r;
		w->sink = sink;
		*slot = w;
	}
	if (!slot || capture(p, w)) {
		p->queue_cnt -= slot != NULL;
		waiting_free(w);
		return err_set(err, ENOMEM, "out of memory");
	}
	if (r->patient)
		return 0;
	if (is_named(p, w)) {
		p->queue_cnt--;
		answer(p, w);
	} else if (naming_begin(p->naming, live_stacks(p->live), &why)) {
		answer_some(p, true, UINT64_MAX);
	}
	return 0;
}

bool profiles_work(struct profiles *p)
{
	struct err err;
	if (answer_some(p, false, now_ns() + TURN_NS))
		return true;
	/* Without memory for symbolization, the profiles show addresses. */
	return p->queue_cnt && naming_begin(p->naming, live_stacks(p->live), &err) && answer_some(p, true, now_ns() + TURN_NS);
}

void profiles_flush(struct profiles *p)
{
	answer_some(p, true, UINT64_MAX);
}
