/* SPDX-License-Identifier: Apache-2.0 */
/* resident/mappings: see mappings.h. */
#include "resident/mappings.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>

#include "resident/proc_maps.h"

struct mapping_part {
	struct proc_id proc;
	uint64_t start, end;
	uint64_t mapped; /* bytes of the call that mapped it; 0 = it was there before */
	uint64_t time_ns;
	uint64_t here_ns; /* since when it lies where it does */
	struct stack_id stack;
};

/* Parts that overlap are equal, so that a search for a range finds one that lies in it. */
static int compare(const void *a, const void *b)
{
	const struct mapping_part *x = a, *y = b;
	if (x->proc.n != y->proc.n)
		return x->proc.n < y->proc.n ? -1 : 1;
	return x->end <= y->start ? -1 : y->end <= x->start;
}

/* The lowest one of the process in the range. */
static struct mapping_part *first_in(const struct mappings *m, struct proc_id proc, uint64_t start, uint64_t end)
{
	struct mapping_part wanted = { .proc = proc, .start = start, .end = end }, *found = NULL, **at;
	while (wanted.start < wanted.end && (at = tfind(&wanted, &m->tree, compare))) {
		found = *at;
		wanted.end = found->start;
	}
	return found;
}

/* What is there already stays. */
static int keep(struct mappings *m, const struct mapping_part *part)
{
	struct mapping_part *own = malloc(sizeof(*own));
	if (!own)
		return -ENOMEM;
	*own = *part;
	struct mapping_part **there = tsearch(own, &m->tree, compare);
	if (!there || *there != own)
		free(own);
	return there ? 0 : -ENOMEM;
}

static void drop(struct mappings *m, struct mapping_part *part)
{
	tdelete(part, &m->tree, compare);
	free(part);
}

static void emit_gone(const struct mappings *m, const struct mapping_part *part, const struct resident_range *why)
{
	const struct event e = {
		.kind = EVENT_FREE, .proc = part->proc, .tid = why->tid, .time_ns = why->time_ns, .addr = part->start
	};
	if (part->mapped)
		m->event(m->ctx, &e);
}

/* No call mapped it as it is: it is left of a larger one, or has moved. */
static void emit_left(const struct mappings *m, const struct mapping_part *part, uint64_t time_ns)
{
	const struct event e = {
		.kind = EVENT_ALLOC,
		.flags = EVENT_F_CARRIED,
		.proc = part->proc,
		.stack = part->stack,
		.time_ns = time_ns,
		.enter_ns = part->time_ns,
		.addr = part->start,
		.size = part->end - part->start,
		.span = part->mapped > UINT32_MAX ? 0 : (uint32_t)part->mapped,
	};
	if (part->mapped)
		m->event(m->ctx, &e);
}

static int keep_left(struct mappings *m, struct mapping_part part, uint64_t start, uint64_t end, uint64_t time_ns)
{
	if (start >= end)
		return 0;
	part.start = start;
	part.end = end;
	emit_left(m, &part, time_ns);
	return keep(m, &part);
}

/* `by`: how far what is taken away lies elsewhere now; 0: it is gone. */
static int cut(struct mappings *m, struct mapping_part *at, const struct resident_range *g, uint64_t by)
{
	struct mapping_part part = *at;
	uint64_t lo = part.start > g->start ? part.start : g->start, hi = part.end < g->end ? part.end : g->end;
	emit_gone(m, at, g);
	drop(m, at);
	int rc = keep_left(m, part, part.start, lo, g->time_ns);
	rc = rc ? rc : keep_left(m, part, hi, part.end, g->time_ns);
	if (rc || !by)
		return rc;
	part.here_ns = g->time_ns;
	return keep_left(m, part, lo + by, hi + by, g->time_ns);
}

static int cut_all(struct mappings *m, const struct resident_range *g, uint64_t by)
{
	struct mapping_part *part;
	int rc = 0;
	for (uint64_t at = g->start, next; !rc && (part = first_in(m, g->proc, at, g->end)); at = next) {
		next = part->end;
		rc = part->here_ns <= g->enter_ns ? cut(m, part, g, by) : 0;
	}
	return rc;
}

/* Whatever has been there. */
static int clear(struct mappings *m, struct resident_range g, uint64_t start, uint64_t end)
{
	g.start = start;
	g.end = end;
	g.enter_ns = UINT64_MAX;
	return cut_all(m, &g, 0);
}

int mappings_come(struct mappings *m, const struct event *alloc)
{
	const struct resident_range why = { .proc = alloc->proc, .tid = alloc->tid, .time_ns = alloc->time_ns };
	const struct mapping_part part = {
		.proc = alloc->proc,
		.start = alloc->addr,
		.end = alloc->addr + alloc->size,
		.mapped = alloc->size,
		.time_ns = alloc->time_ns,
		.here_ns = alloc->time_ns,
		.stack = alloc->stack,
	};
	return part.start < part.end ? clear(m, why, part.start, part.end) ?: keep(m, &part) : 0;
}

int mappings_gone(struct mappings *m, const struct resident_range *why)
{
	return cut_all(m, why, 0);
}

int mappings_moved(struct mappings *m, const struct resident_range *from, uint64_t to)
{
	/* Read once the call was over, the kernel's list may have had it at its new place: it stays as it is there. */
	if (!first_in(m, from->proc, from->start, from->end))
		return 0;
	return clear(m, *from, to, to + (from->end - from->start)) ?: cut_all(m, from, to - from->start);
}

struct beginning {
	struct mappings *m;
	struct proc_id proc;
};

static int take_older(void *ctx, uint64_t start, uint64_t end)
{
	const struct beginning *b = ctx;
	const struct mapping_part part = { .proc = b->proc, .start = start, .end = end };
	return keep(b->m, &part);
}

int mappings_begin(struct mappings *m, struct proc_id proc, uint32_t tgid)
{
	struct beginning b = { m, proc };
	return proc_maps_each(tgid, &b, take_older);
}

int mappings_fork(struct mappings *m, struct proc_id parent, struct proc_id child)
{
	const struct mapping_part *part;
	int rc = 0;
	for (uint64_t at = 0; !rc && (part = first_in(m, parent, at, UINT64_MAX)); at = part->end) {
		struct mapping_part copy = *part;
		copy.proc = child;
		rc = keep(m, &copy);
	}
	return rc;
}

/* A walk over what the kernel lists: what lies between two of its ranges is gone. */
struct settling {
	struct mappings *m;
	struct resident_range why;
	uint64_t at;
};

static uint64_t sum_in(const struct mappings *m, struct proc_id proc, uint64_t start, uint64_t end, bool older)
{
	const struct mapping_part *part;
	uint64_t sum = 0;
	for (uint64_t at = start; (part = first_in(m, proc, at, end)); at = part->end) {
		uint64_t lo = part->start > start ? part->start : start, hi = part->end < end ? part->end : end;
		sum += older && part->mapped ? 0 : hi - lo;
	}
	return sum;
}

static int sweep(struct settling *s, uint64_t end)
{
	s->m->swept += sum_in(s->m, s->why.proc, s->at, end, false);
	return clear(s->m, s->why, s->at, end);
}

static int settle(void *ctx, uint64_t start, uint64_t end)
{
	struct settling *s = ctx;
	int rc = sweep(s, start);
	s->m->total += end - start;
	s->m->unheard += end - start - sum_in(s->m, s->why.proc, start, end, false);
	s->m->older += sum_in(s->m, s->why.proc, start, end, true);
	s->at = end;
	return rc;
}

void mappings_begin_settling(struct mappings *m)
{
	m->total = m->older = m->unheard = 0;
}

int mappings_settle(struct mappings *m, struct proc_id proc, uint32_t tgid, uint64_t now_ns)
{
	struct settling s = { .m = m, .why = { .proc = proc, .time_ns = now_ns } };
	int rc = proc_maps_each(tgid, &s, settle);
	/* One that has just ended lists nothing, and stays as it was. */
	return rc || !s.at ? rc : sweep(&s, UINT64_MAX);
}

void mappings_forget(struct mappings *m, struct proc_id proc)
{
	struct mapping_part *part;
	while ((part = first_in(m, proc, 0, UINT64_MAX)))
		drop(m, part);
}

void mappings_free(struct mappings *m)
{
	tdestroy(m->tree, free);
	m->tree = NULL;
}
