/* SPDX-License-Identifier: Apache-2.0 */
/* intake: see intake.h. */
#include "intake/intake.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "alys.h"
#include "catalog/catalog.h"
#include "model/model.h"

/* Records, some 0.2 ms of work: a slice of the scheduler is ten times as long. */
#define TURN 256

struct intake {
	struct intake_ops ops;
	struct queue *queue;
	struct intake_counts counts;
};

static struct intake_who who_of(const struct alys_head *h)
{
	return (struct intake_who){ .tgid = h->tgid, .tid = h->tid, .time_ns = h->time, .subject = h->subject };
}

static void event_head(struct event *e, const struct alys_head *h, enum event_kind kind)
{
	*e = (struct event){ .kind = (uint8_t)kind, .tid = h->tid, .time_ns = h->time, .gc_no = h->gc_no };
	if (h->flags & ALYS_F_ATOMIC)
		e->flags |= EVENT_F_ATOMIC;
	if (h->flags & ALYS_F_GC)
		e->flags |= EVENT_F_GC;
	if (h->flags & ALYS_F_WINDOW)
		e->flags |= EVENT_F_WINDOW | (h->flags & ALYS_F_PLAIN ? EVENT_F_BY_CPU : 0);
	if (h->flags & ALYS_F_UNFOLLOWED)
		e->flags |= EVENT_F_UNFOLLOWED;
	if (h->flags & ALYS_F_HEAPFUL)
		e->flags |= EVENT_F_HEAPFUL;
}

/* The interval at which a block of this size stands for so many bytes. */
static uint64_t interval_of(uint64_t size, uint64_t weight)
{
	return sample_interval(size, (double)weight / (double)(size ? size : 1));
}

static void event_alloc(struct event *e, const struct alys_ev_alloc *a, enum event_kind kind)
{
	event_head(e, &a->h, kind);
	e->addr = a->addr;
	e->size = a->size;
	e->interval = a->h.flags & ALYS_F_WEIGHED ? interval_of(a->size, a->interval) : a->interval;
	e->span = a->span;
	if (a->h.flags & ALYS_F_HEAPFUL)
		e->old_addr = a->batch;
	else
		e->batch = a->batch;
}

/* Fills in the event; returns the record's stack hash. */
static uint64_t event_of(struct event *e, const struct alys_head *h)
{
	const struct alys_ev_alloc *a = (const void *)h;
	const struct alys_ev_realloc *r = (const void *)h;
	const struct alys_ev_free *f = (const void *)h;
	switch (h->kind) {
	case ALYS_EV_ALLOC: event_alloc(e, a, EVENT_ALLOC); return a->stack;
	case ALYS_EV_REALLOC:
		event_alloc(e, a, EVENT_REALLOC);
		e->old_addr = r->old;
		e->enter_ns = r->enter;
		return a->stack;
	default:
		event_head(e, h, EVENT_FREE);
		e->addr = f->addr;
		return f->stack;
	}
}

static void give_event(struct intake *in, const struct alys_head *h)
{
	struct event e;
	struct intake_who who = who_of(h);
	uint64_t stack = event_of(&e, h);
	in->ops.on_event(in->ops.ctx, &who, stack, &e);
}

_Static_assert(ALYS_PID_TAG == EVENT_PID_TAG && ALYS_PID_TAG_BITS == EVENT_PID_TAG_BITS &&
		       ALYS_PID_NUMBER_BITS == EVENT_PID_NUMBER_BITS,
	       "a pid has one form");

#define SAME_SUBJECT(name) _Static_assert((int)ALYS_SUBJECT_##name == (int)SUBJECT_##name, "a subject has one number")
SAME_SUBJECT(ALLOCATIONS);
SAME_SUBJECT(PAGES);
SAME_SUBJECT(MAPPINGS);

#define SAME_END(name) _Static_assert((int)ALYS_STOP_##name == (int)STACK_END_##name, "an end of walks has one number")
SAME_END(COMPLETE);
SAME_END(UNKNOWN);
SAME_END(TRUNCATED);
SAME_END(FAULT);
SAME_END(NO_TABLE);
SAME_END(BAD_CFA);
SAME_END(UNSUPPORTED);

static void give_stack(struct intake *in, const struct alys_ev_stack *s, size_t size)
{
	if (s->n > (size - sizeof(*s)) / sizeof(uint64_t)) {
		in->counts.bad++;
		return;
	}
	struct intake_stack out = {
		.who = who_of(&s->h),
		.hash = s->hash,
		.end = s->end,
		.memory = s->memory,
		.n = s->n,
		.ips = (const uint64_t *)(s + 1),
	};
	in->ops.on_stack(in->ops.ctx, &out);
}

static void give_note(struct intake *in, const struct alys_ev_proc *p)
{
	static const enum intake_note notes[] = {
		[ALYS_EV_EXEC] = INTAKE_EXEC, [ALYS_EV_EXIT] = INTAKE_EXIT, [ALYS_EV_FORK] = INTAKE_FORK,
		[ALYS_EV_MISS] = INTAKE_MISS, [ALYS_EV_OOM] = INTAKE_OOM,   [ALYS_EV_MAPPED] = INTAKE_MAPPED,
		[ALYS_EV_USED] = INTAKE_USED,
	};
	struct intake_who who = who_of(&p->h);
	who.held = p->h.held;
	in->ops.on_note(in->ops.ctx, &who, notes[p->h.kind], p->other);
}

static struct intake_collection collection_of(const struct alys_ev_gc *g)
{
	return (struct intake_collection){
		.who = who_of(&g->h),
		.phase = g->h.kind == ALYS_EV_GC_MARKED ? INTAKE_GC_MARKED : INTAKE_GC_DONE,
		.gc_no = g->h.gc_no,
		.serial = g->serial,
		.begun_ns = g->begun,
		.marked_ns = g->marked,
		.stack_hash = g->stack,
		.idle = g->h.flags & ALYS_F_IDLE,
	};
}

bool intake_collection_of(const void *data, size_t size, struct intake_collection *out, bool *over)
{
	const struct alys_ev_gc *g = data;
	if (size < sizeof(*g))
		return false;
	*out = collection_of(g);
	*over = g->h.kind == ALYS_EV_GC_DONE;
	return g->h.kind == ALYS_EV_GC_DONE || g->h.kind == ALYS_EV_GC_BEGUN;
}

static void give_collection(struct intake *in, const struct alys_ev_gc *g)
{
	struct intake_collection c = collection_of(g);
	if (in->ops.on_collection)
		in->ops.on_collection(in->ops.ctx, &c);
}

static void give_range(struct intake *in, const struct alys_ev_range *g)
{
	struct intake_range r = {
		.who = who_of(&g->h),
		.start = g->start,
		.end = g->end,
		.moved = g->h.kind == ALYS_EV_MOVED,
		.to = g->to,
		.enter_ns = g->enter,
	};
	if (in->ops.on_range)
		in->ops.on_range(in->ops.ctx, &r);
}

static void give_name(struct intake *in, const struct alys_ev_named *n)
{
	struct intake_name name = {
		.who = who_of(&n->h),
		.process = n->process,
		.registered = n->registered,
		.module = n->initial[0],
		.function = n->initial[1],
		.arity = n->initial[2],
	};
	if (in->ops.on_name)
		in->ops.on_name(in->ops.ctx, &name);
}

/* Smallest size of each kind of record; 0 = no such kind. */
static const size_t least_size[] = {
	[ALYS_EV_ALLOC] = sizeof(struct alys_ev_alloc),  [ALYS_EV_REALLOC] = sizeof(struct alys_ev_realloc),
	[ALYS_EV_FREE] = sizeof(struct alys_ev_free),    [ALYS_EV_STACK] = sizeof(struct alys_ev_stack),
	[ALYS_EV_EXEC] = sizeof(struct alys_ev_proc),    [ALYS_EV_EXIT] = sizeof(struct alys_ev_proc),
	[ALYS_EV_FORK] = sizeof(struct alys_ev_proc),    [ALYS_EV_MISS] = sizeof(struct alys_ev_proc),
	[ALYS_EV_OOM] = sizeof(struct alys_ev_proc),     [ALYS_EV_MAPPED] = sizeof(struct alys_ev_proc),
	[ALYS_EV_GC_MARKED] = sizeof(struct alys_ev_gc), [ALYS_EV_GC_DONE] = sizeof(struct alys_ev_gc),
	[ALYS_EV_GONE] = sizeof(struct alys_ev_range),   [ALYS_EV_MOVED] = sizeof(struct alys_ev_range),
	[ALYS_EV_NAMED] = sizeof(struct alys_ev_named),  [ALYS_EV_USED] = sizeof(struct alys_ev_proc),
};

static void give(struct intake *in, const void *data, size_t size)
{
	const struct alys_head *h = data;
	if (size < sizeof(*h) || h->kind >= sizeof(least_size) / sizeof(least_size[0]) || !least_size[h->kind])
		in->counts.unknown++;
	else if (size < least_size[h->kind])
		in->counts.bad++;
	else if (h->kind <= ALYS_EV_FREE)
		give_event(in, h);
	else if (h->kind == ALYS_EV_STACK)
		give_stack(in, data, size);
	else if (h->kind == ALYS_EV_GC_MARKED || h->kind == ALYS_EV_GC_DONE)
		give_collection(in, data);
	else if (h->kind == ALYS_EV_GONE || h->kind == ALYS_EV_MOVED)
		give_range(in, data);
	else if (h->kind == ALYS_EV_NAMED)
		give_name(in, data);
	else
		give_note(in, data);
}

struct intake *intake_new(const struct queue_source *from, uint64_t room, const struct intake_ops *ops, struct err *err)
{
	struct intake *in = calloc(1, sizeof(*in));
	if (!in) {
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	in->ops = *ops;
	in->queue = queue_new(from, room, err);
	if (in->queue)
		return in;
	free(in);
	return NULL;
}

void intake_free(struct intake *in)
{
	if (in)
		queue_free(in->queue);
	free(in);
}

int intake_epoll_fd(const struct intake *in)
{
	return queue_epoll_fd(in->queue);
}

/* A target that wakes on this processor should not have to wait for the end of our slice. */
static void let_others_run(const struct intake *in)
{
	if (queue_has_time(in->queue))
		sched_yield();
}

long intake_drain(struct intake *in)
{
	const void *record;
	size_t size;
	long n = 0;
	while (n < INTAKE_DRAIN_MAX && (record = queue_next(in->queue, &size))) {
		give(in, record, size);
		if (++n % TURN == 0)
			let_others_run(in);
	}
	return n;
}

void intake_reset(struct intake *in)
{
	queue_reset(in->queue);
}

uint64_t intake_backlog(const struct intake *in)
{
	return queue_backlog(in->queue);
}

struct intake_counts intake_counts(const struct intake *in)
{
	return in->counts;
}
