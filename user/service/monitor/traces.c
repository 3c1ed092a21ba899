/* SPDX-License-Identifier: Apache-2.0 */
/* monitor/traces: see traces.h. */
#include "monitor/traces.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/vec.h"
#include "naming/finish.h"
#include "recorder/metadata.h"

#define TIMEOUT_NS 1000000000ull /* for symbolization, when the daemon exits */

/* An ended file whose stacks are not symbolized yet. */
struct closing {
	struct trace_writer *writer;
	struct trace_end end;
	uint32_t stacks_cnt; /* number of stacks when it ended */
};

struct traces {
	struct live *live;
	struct trace_writer *writer; /* of the current file, NULL = none */
	const struct heaps *heaps;
	struct naming *naming;
	struct trace_end end;
	uint64_t events, carried; /* events in the current file; its size after carry_over */
	struct catalog *account;
	struct closing *queue;
	size_t queue_cnt, queue_cap;
	uint32_t settle_at; /* number of stacks to be symbolized before the catalog is compacted, 0 = none */
};

struct traces *traces_new(struct live *l, const struct heaps *h, struct naming *n)
{
	struct traces *t = calloc(1, sizeof(*t));
	if (t)
		*t = (struct traces){ .live = l, .heaps = h, .naming = n };
	return t;
}

static bool is_used(void *ctx, const struct stack *s)
{
	return trace_has_stack(ctx, s->id);
}

static void complete(const struct traces *t, struct closing *c)
{
	struct err why = { 0 };
	struct consumer to = trace_consumer(c->writer);
	finish_names(t->live->h.catalog, &to, is_used, c->writer);
	int rc = trace_writer_close(c->writer, &why);
	c->end.done(c->end.ctx, rc, &why);
}

static void complete_some(struct traces *t, bool all)
{
	size_t kept = 0;
	for (size_t i = 0; i < t->queue_cnt; i++) {
		if (all || naming_reached(t->naming) >= t->queue[i].stacks_cnt)
			complete(t, &t->queue[i]);
		else
			t->queue[kept++] = t->queue[i];
	}
	t->queue_cnt = kept;
}

void traces_work(struct traces *t)
{
	struct err err;
	complete_some(t, false);
	/* Without memory for symbolization, the trace has addresses. */
	if (t->queue_cnt && naming_begin(t->naming, live_stacks(t->live), &err))
		complete_some(t, true);
}

void traces_flush(struct traces *t)
{
	uint64_t end = now_ns() + TIMEOUT_NS, now;
	for (traces_work(t); t->queue_cnt && (now = now_ns()) < end; traces_work(t)) {
		struct pollfd named = { .fd = naming_fd(t->naming), .events = POLLIN };
		poll(&named, 1, (int)((end - now) / 1000000) + 1);
		naming_collect(t->naming);
	}
	complete_some(t, true);
}

static struct catalog *copy_account(const struct catalog *from)
{
	struct catalog *to = catalog_new();
	const struct count *n;
	for (size_t i = 0; to && (n = catalog_next_count(from, &i));)
		catalog_put_count(to, n);
	return to;
}

static void end_file(struct traces *t, struct closing *place)
{
	struct live *l = t->live;
	char now[24];
	snprintf(now, sizeof(now), "%" PRIu64, now_ns());
	live_end_file(l);
	metadata_liveness(l);
	trace_write_meta(t->writer, "end_mono_ns", now);
	live_note_dropped(l, trace_dropped(t->writer));
	*place = (struct closing){ .writer = t->writer, .end = t->end, .stacks_cnt = live_stacks(l) };
	t->writer = NULL;
}

struct carrying {
	struct trace_writer *to;
	uint64_t now_ns;
};

static int carry(void *ctx, const struct event *live)
{
	const struct carrying *c = ctx;
	struct event e = *live;
	e.flags |= EVENT_F_CARRIED;
	e.enter_ns = live->time_ns;
	e.time_ns = c->now_ns;
	trace_write_event(c->to, &e);
	return 0;
}

/* Writes the live blocks to the new file: otherwise their frees would look like frees of unknown blocks. */
static void carry_over(const struct traces *t)
{
	struct carrying c = { .to = t->writer, .now_ns = now_ns() };
	for (size_t i = 0; i < t->heaps->at_cnt; i++)
		heap_visit_live(t->heaps->at[i]->heap, carry, &c);
}

/* The kernel has sent them once, maybe before this file. */
static void carry_names(const struct traces *t)
{
	const struct erlang_process *named;
	for (size_t i = 0; (named = catalog_next_erlang_process(t->live->h.catalog, &i));)
		trace_write_erlang_process(t->writer, named);
}

static void begin_file(struct traces *t, struct trace_writer *w, const struct trace_end *end, struct catalog *account)
{
	struct live *l = t->live;
	catalog_free(t->account);
	t->account = account;
	live_begin_file(l, account);
	t->writer = w;
	t->events = 0;
	if (!w)
		return;
	t->end = *end;
	metadata_begin(l);
	metadata_sampling(l);
	carry_names(t);
	carry_over(t);
	t->carried = trace_bytes(w);
}

int traces_turn(struct traces *t, int fd, const struct trace_end *end, struct err *err)
{
	struct live *l = t->live;
	struct trace_clock clock = trace_clock_now();
	struct trace_writer *w = fd >= 0 ? trace_writer_over(fd, &clock, l->h.catalog, err) : NULL;
	struct catalog *account = copy_account(l->h.catalog);
	if (fd >= 0 && !w) {
		catalog_free(account);
		return -err->code;
	}
	struct closing *place = t->writer ? VEC_PUSH(t, queue) : NULL;
	if (!account || (t->writer && !place)) {
		t->queue_cnt -= place != NULL;
		catalog_free(account);
		if (w)
			trace_writer_close(w, NULL);
		return err_set(err, ENOMEM, "out of memory");
	}
	if (place)
		end_file(t, place);
	begin_file(t, w, end, account);
	traces_work(t);
	return 0;
}

void traces_event(struct traces *t, const struct event *e)
{
	t->events++;
	if (t->writer)
		trace_write_event(t->writer, e);
}

int traces_define(struct traces *t, const struct definition *d)
{
	return t->writer ? trace_write_definition(t->writer, d) : 0;
}

void traces_tick(struct traces *t, uint64_t now_ns)
{
	if (t->writer)
		trace_tick(t->writer, now_ns);
}

uint64_t traces_dropped(const struct traces *t)
{
	return t->writer ? trace_dropped(t->writer) : 0;
}

uint64_t traces_size(const struct traces *t, uint64_t *bytes)
{
	*bytes = t->writer ? trace_bytes(t->writer) - t->carried : 0;
	return t->events;
}

struct settling {
	const struct traces *t;
	const struct compact *kept;
};

static bool is_detaching(void *ctx, const struct stack *s)
{
	const struct settling *g = ctx;
	return !compact_keeps(g->kept, s) && trace_has_stack(g->t->writer, s->id);
}

bool traces_settle(struct traces *t, const struct compact *kept)
{
	struct live *l = t->live;
	struct err err;
	if (t->queue_cnt)
		return false;
	if (!t->writer)
		return true;
	if (!t->settle_at)
		t->settle_at = live_stacks(l);
	if (naming_reached(t->naming) < t->settle_at && !naming_begin(t->naming, live_stacks(t->live), &err))
		return false;
	t->settle_at = 0;
	struct consumer to = trace_consumer(t->writer);
	finish_names(l->h.catalog, &to, is_detaching, &(struct settling){ t, kept });
	return true;
}

void traces_follow(struct traces *t)
{
	if (t->writer)
		trace_writer_follow(t->writer, t->live->h.catalog);
}

void traces_free(struct traces *t)
{
	struct err err;
	if (!t)
		return;
	/* traces_turn needs memory: without, close the file directly. */
	if (t->writer && traces_turn(t, -1, NULL, &err)) {
		struct closing last;
		end_file(t, &last);
		complete(t, &last);
	}
	complete_some(t, true);
	live_begin_file(t->live, NULL);
	catalog_free(t->account);
	free(t->queue);
	free(t);
}
