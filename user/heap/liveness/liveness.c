/* SPDX-License-Identifier: Apache-2.0 */
/* liveness: see liveness.h. Single-threaded: all calls come from the thread that reads the main ring. */
#include "liveness/liveness.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/text.h"
#include "base/vec.h"
#include "liveness/older.h"
#include "liveness/unrecorded.h"
#include "marking/recorded.h"
#include "marking/resurrected.h"

#define ASK_NS 100000000ull
#define AGAIN_NS 10000000ull /* used after a counter has just moved */
#define LOOKS 10
#define REPORT_SHARE 50 /* 1/50: share of time for sorting older objects by type */
/* 1/50: share of time for comparing marks with records, once all has been compared */
#define COMPARE_SHARE 50
#define FIRST_SHARE 5 /* 1/5: the share before that */
#define COMPARE_NS 200000000ull

/* One collected heap. */
struct heap_state {
	struct proc_id proc;
	uint32_t tgid;
	enum heap_origin origin;
	struct recorded objects;
	uint64_t marked; /* serial + 1 of a collection that has marked but is not over, 0 = none */
	uint32_t gc_no;  /* of the last collection known */
	bool gc_no_known;
	bool had_objects;               /* recorded objects existed that this collection could free */
	struct event finished_gc;       /* the collection that is over but not yet applied */
	struct mark_reading *reading;   /* marks of that collection, NULL = none */
	struct mark_reading *comparing; /* reading whose marks are applied (resurrected.last) but not all compared; NULL = none */
	struct resurrected resurrected;
	struct map freed; /* objects freed since the last marking: the marks still show them as alive */
	uint64_t collections, missed;
	uint64_t no_room; /* l->no_room before this heap's first record was sent: those were other processes */
	struct marks_facts facts;
	enum gc_unseen unseen;
	int unseen_error;       /* as in struct unseen, also object */
	char *object, *comm;    /* NULL also: out of memory */
	bool flagged;           /* its events are flagged EVENT_F_GC */
	bool based;             /* when polled: all objects known now were known when the counter was at base */
	uint64_t base, counted; /* counted: the counter when last polled */
	uint32_t looks;         /* polls since the counter left base */
	struct unrecorded unrecorded;
	uint64_t read_whole; /* value of `collections` at the last complete reading; reached: objects marked then */
	uint64_t reached, reached_sz;
	uint64_t compared_ns;                  /* CPU time used so far */
	uint64_t since_ns;                     /* time of its first collection */
	uint64_t reported_cnt, reported_bytes; /* objects from before the recording, as last reported */
	uint64_t report_at_ns;                 /* earliest time of the next report */
};

/* Totals over heaps; of those that could not be judged, are polled or collect incrementally, the reason of one each. */
struct summary {
	size_t heaps;
	struct exactness_heaps unjudged, polled;
	uint32_t incremental_tgid;
	uint64_t unknown, unknown_sz, empty, empty_sz, older, older_sz, older_empty, older_empty_sz, inherited, inherited_sz,
		uncompared, marked_sz;
	uint64_t reached, reached_sz, unread, since;
	size_t never_compared; /* heaps that collected but were never compared with the records */
};

struct liveness {
	struct marks *marks;
	struct liveness_ops ops;
	struct heap_state **heaps; /* pointers: the array moves when it grows */
	size_t heaps_cnt, heaps_cap;
	struct map by_proc; /* proc -> index */
	struct heap_state *last;
	size_t pending;   /* heaps with an unapplied reading */
	size_t comparing; /* heaps with a reading not completely compared */
	uint64_t asked_ns, no_room;
	uint64_t no_room_past; /* an earlier value of no_room: all records sent before it was taken have been read */
	bool again;            /* a counter has just moved: poll soon */
	struct summary gone;
	struct liveness_counts counts;
};

struct liveness *liveness_new(struct marks *m, const struct liveness_ops *ops)
{
	struct liveness *l = calloc(1, sizeof(*l));
	if (l) {
		l->marks = m;
		l->ops = *ops;
	}
	return l;
}

static void heap_state_free(struct heap_state *h)
{
	recorded_free(&h->objects);
	unrecorded_free(&h->unrecorded);
	map_free(&h->freed);
	resurrected_free(&h->resurrected);
	free(h->object);
	free(h->comm);
	free(h);
}

void liveness_free(struct liveness *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->heaps_cnt; i++) {
		mark_reading_free(l->heaps[i]->reading);
		mark_reading_free(l->heaps[i]->comparing);
		heap_state_free(l->heaps[i]);
	}
	free(l->heaps);
	map_free(&l->by_proc);
	free(l);
}

static struct heap_state *heap_known(struct liveness *l, struct proc_id proc)
{
	if (l->last && l->last->proc.n == proc.n)
		return l->last;
	const uint64_t *at = map_get(&l->by_proc, proc.n);
	return at ? l->last = l->heaps[*at] : NULL;
}

static struct heap_state *heap_of(struct liveness *l, struct proc_id proc, uint32_t tgid)
{
	struct heap_state *h = heap_known(l, proc);
	if (h)
		return h;
	h = calloc(1, sizeof(*h));
	struct heap_state **slot = h ? VEC_PUSH(l, heaps) : NULL;
	uint64_t *at = slot ? map_put(&l->by_proc, proc.n) : NULL;
	if (!at) {
		l->heaps_cnt -= slot != NULL;
		free(h);
		return NULL;
	}
	*at = l->heaps_cnt - 1;
	*slot = h;
	h->proc = proc;
	h->tgid = tgid;
	h->flagged = true;
	h->origin = l->ops.origin(l->ops.ctx, proc);
	h->unrecorded.began_here = h->origin == ORIGIN_RECORDING;
	h->no_room = l->no_room_past;
	if (l->marks)
		marks_watch(l->marks, tgid);
	return l->last = h;
}

static struct event free_by_gc(const struct heap_state *h, const struct event *cause, uint64_t addr)
{
	return (struct event){
		.kind = EVENT_FREE,
		.flags = EVENT_F_BY_GC | EVENT_F_GC,
		.proc = h->proc,
		.tid = cause->tid,
		.time_ns = cause->time_ns,
		.addr = addr,
		.gc_no = cause->gc_no,
	};
}

struct applying {
	struct liveness *l;
	struct heap_state *heap;
};

static int on_dead(void *ctx, uint64_t addr, uint64_t size)
{
	struct applying *a = ctx;
	struct event e = free_by_gc(a->heap, &a->heap->finished_gc, addr);
	a->heap->finished_gc.gc.dead_cnt++;
	a->heap->finished_gc.gc.dead_sz += size;
	a->l->counts.reclaimed++;
	a->l->counts.reclaimed_sz += size;
	a->l->ops.event(a->l->ops.ctx, &e);
	return 0;
}

/* A partial reading covers only the blocks of sampled objects, so it does not measure the heap. */
static void measure(struct heap_state *h, const struct boehm_heap *heap)
{
	h->finished_gc.gc.heap_sz = heap->heap_bytes;
	if (heap->asked)
		return;
	h->read_whole = h->collections;
	h->reached = h->reached_sz = 0;
	for (size_t i = 0; i < heap->blocks_cnt; i++) {
		h->reached += heap->blocks[i].live;
		h->reached_sz += heap->blocks[i].live * heap->blocks[i].size;
	}
	h->finished_gc.gc.live_sz = h->reached_sz;
}

static void know_all(struct unrecorded *s, const struct map *objects)
{
	const struct map_slot *slot;
	for (size_t i = 0; (slot = map_next(objects, &i));)
		unrecorded_know(s, slot->key);
}

static bool is_affordable(const struct heap_state *h, uint64_t now)
{
	uint64_t share = h->unrecorded.looked ? COMPARE_SHARE : FIRST_SHARE;
	return h->compared_ns <= COMPARE_NS + (now - h->since_ns) / share;
}

static void end_compare(struct liveness *l, struct heap_state *h)
{
	l->comparing -= h->comparing != NULL;
	mark_reading_free(h->comparing);
	h->comparing = NULL;
	map_free(&h->freed);
}

/*
 * Objects that remain in the reading once the dead are removed are recorded or unrecorded ones. Out of memory: nothing
 * is compared, which liveness_exactness reports.
 */
static void compare(struct liveness *l, struct heap_state *h, uint64_t now)
{
	uint64_t began = clock_ns(CLOCK_THREAD_CPUTIME_ID), spent = 0;
	if (!h->comparing || !is_affordable(h, now))
		return;
	int rc = marks_compare(l->marks, h->comparing, &h->resurrected.last, &h->objects, &h->unrecorded.now, &spent);
	rc = rc ?: unrecorded_note(&h->unrecorded);
	know_all(&h->unrecorded, &h->freed);
	know_all(&h->unrecorded, &h->resurrected.objects);
	if (rc || h->unrecorded.now.whole)
		end_compare(l, h);
	h->compared_ns += spent + clock_ns(CLOCK_THREAD_CPUTIME_ID) - began;
}

/* Moves a reading whose marks have been applied to `comparing`. */
static void begin_compare(struct liveness *l, struct heap_state *h, uint64_t now)
{
	h->since_ns = h->since_ns ?: now;
	h->comparing = h->reading;
	h->reading = NULL;
	l->pending--;
	l->comparing++;
	if (l->ops.part || h->comparing->heap.asked) {
		end_compare(l, h);
	} else if (resurrected_note(&h->resurrected, &h->comparing->heap)) {
		resurrected_free(&h->resurrected);
		end_compare(l, h);
	} else {
		heapset_keep_marked(&h->unrecorded.now.objects, &h->resurrected.last);
	}
	compare(l, h, now);
}

/* Reports the finished collection, after the frees that it caused. */
static int conclude(struct liveness *l, struct heap_state *h)
{
	struct applying a = { l, h };
	int rc = 0;
	if (!h->finished_gc.kind)
		return 0;
	if (h->reading) {
		measure(h, &h->reading->heap);
		uint64_t from = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		rc = recorded_apply(&h->objects, &h->reading->heap, on_dead, &a);
		uint64_t took = clock_ns(CLOCK_THREAD_CPUTIME_ID) - from;
		l->counts.longest_ns = took > l->counts.longest_ns ? took : l->counts.longest_ns;
		begin_compare(l, h, h->finished_gc.time_ns);
	} else {
		end_compare(l, h);
	}
	l->ops.event(l->ops.ctx, &h->finished_gc);
	h->finished_gc.kind = 0;
	return rc;
}

static bool is_due(const struct heap_state *h, uint64_t time_ns)
{
	return h->finished_gc.kind && (!h->reading || h->reading->until_ns < time_ns);
}

/* Collections before its first object could free nothing, whether they were seen or not. */
static void begin_at(struct heap_state *h, const struct event *e)
{
	if (!h->objects.count && h->gc_no_known && (int32_t)(e->gc_no - h->gc_no) > 0)
		h->gc_no = e->gc_no;
}

static int remember(struct liveness *l, struct heap_state *h, const struct event *e)
{
	uint64_t size;
	begin_at(h, e);
	unrecorded_know(&h->unrecorded, e->addr);
	int rc = recorded_put(&h->objects, e->addr, e->size, &size);
	if (rc <= 0)
		return rc;
	/* The address was reused before the marks were applied: they would have shown the old object as dead. */
	if (h->reading) {
		struct applying a = { l, h };
		return on_dead(&a, e->addr, size);
	}
	/* The object that was there died unnoticed. */
	struct event died = free_by_gc(h, e, e->addr);
	if (h->gc_no_known && !h->unseen)
		died.gc_no = h->gc_no;
	l->counts.reused++;
	l->ops.event(l->ops.ctx, &died);
	return 0;
}

/* -ENOMEM. */
static int forget(struct heap_state *h, uint64_t addr)
{
	uint64_t size;
	unrecorded_know(&h->unrecorded, addr);
	bool held = recorded_take(&h->objects, addr, &size) && (h->marked || h->finished_gc.kind || h->comparing);
	return held && !map_put(&h->freed, addr) ? -ENOMEM : 0;
}

int liveness_event(struct liveness *l, uint32_t tgid, const struct event *e)
{
	bool begins = e->kind == EVENT_ALLOC || e->kind == EVENT_REALLOC;
	struct heap_state *h = begins && e->flags & EVENT_F_GC ? heap_of(l, e->proc, tgid) : heap_known(l, e->proc);
	int rc = 0;
	if (!h)
		return begins && e->flags & EVENT_F_GC ? -ENOMEM : 0;
	if (l->pending && is_due(h, e->time_ns))
		rc = conclude(l, h);
	if (e->kind == EVENT_FREE && !rc)
		rc = forget(h, e->addr);
	if (e->kind == EVENT_REALLOC && e->old_addr && !rc)
		rc = forget(h, e->old_addr);
	if (begins && e->flags & EVENT_F_GC && e->addr && !rc)
		rc = remember(l, h, e);
	return rc;
}

static void miss(struct liveness *l, struct heap_state *h, uint64_t n)
{
	h->missed += n;
	l->counts.missed += n;
	unrecorded_missed(&h->unrecorded);
}

/* Counts collections between the last known one and this one: they left no record. Without objects none was looked for. */
static void count_up_to(struct liveness *l, struct heap_state *h, uint32_t gc_no)
{
	uint32_t skipped = h->gc_no_known && h->objects.count ? gc_no - h->gc_no - 1 : 0;
	if (skipped && skipped < 1u << 31) {
		h->collections += skipped;
		l->counts.collections += skipped;
		miss(l, h, skipped);
	}
	h->gc_no_known = true;
	h->gc_no = gc_no;
	h->collections++;
	l->counts.collections++;
}

static int on_marked(struct liveness *l, struct heap_state *h, const struct intake_collection *c)
{
	int rc = conclude(l, h);
	if (h->marked && h->had_objects) /* the record of its end was lost */
		miss(l, h, 1);
	count_up_to(l, h, c->gc_no);
	h->had_objects = h->objects.count > 0;
	end_compare(l, h);
	recorded_marked(&h->objects);
	h->marked = c->serial + 1;
	return rc;
}

static int on_over(struct liveness *l, struct heap_state *h, const struct intake_collection *c, const struct event *e)
{
	int rc = conclude(l, h);
	bool whole = h->marked == c->serial + 1;
	if (!whole)
		count_up_to(l, h, c->gc_no);
	h->marked = 0;
	h->finished_gc = *e;
	h->finished_gc.gc.pause_ns = c->begun_ns && c->marked_ns > c->begun_ns ? c->marked_ns - c->begun_ns : 0;
	struct mark_reading *r = c->idle ? marks_of_none(l->marks, c) : marks_take(l->marks, h->tgid, c->serial);
	if (r && r->good && whole) {
		h->reading = r;
		l->pending++;
		return rc;
	}
	mark_reading_free(r);
	if (h->had_objects || !whole)
		miss(l, h, 1);
	int concluded = conclude(l, h);
	return rc ? rc : concluded;
}

int liveness_collection(struct liveness *l, const struct intake_collection *c, const struct event *e)
{
	struct heap_state *h = heap_of(l, e->proc, c->who.tgid);
	if (!h)
		return -ENOMEM;
	if (h->unseen) { /* polled instead */
		if (c->phase != INTAKE_GC_MARKED && !c->idle)
			mark_reading_free(marks_take(l->marks, h->tgid, c->serial));
		return 0;
	}
	return c->phase == INTAKE_GC_MARKED ? on_marked(l, h, c) : on_over(l, h, c, e);
}

int liveness_read_until(struct liveness *l, uint64_t time_ns)
{
	int rc = 0;
	l->no_room_past = l->no_room;
	for (size_t i = 0; i < l->heaps_cnt && l->pending; i++) {
		if (is_due(l->heaps[i], time_ns)) {
			int one = conclude(l, l->heaps[i]);
			rc = rc ? rc : one;
		}
	}
	for (size_t i = 0; i < l->heaps_cnt && l->comparing; i++)
		compare(l, l->heaps[i], time_ns);
	return rc;
}

/* Only the first reason is kept. */
static void set_unseen(struct heap_state *h, const struct unseen *u, const char *comm)
{
	if (h->unseen)
		return;
	h->unseen = u->why;
	h->unseen_error = u->error;
	h->object = u->object ? strdup(u->object) : NULL;
	h->comm = comm ? strdup(comm) : NULL;
}

/*
 * A process for which the kernel's table had no room is one that has no entry there. The kernel counts each such
 * collection, so processes that appeared after the last of them are not affected.
 */
static void look(struct liveness *l, struct heap_state *h)
{
	h->facts = marks_facts(l->marks, h->tgid);
	if (l->no_room != h->no_room && !h->collections && !h->facts.begun)
		set_unseen(h, &(struct unseen){ .why = GC_NO_ROOM }, NULL);
}

static bool is_polled(const struct heap_state *h)
{
	return h->unseen && h->flagged && h->facts.counted;
}

int liveness_unseen(struct liveness *l, const struct proc *p, const struct unseen *u, bool flagged)
{
	struct heap_state *h = heap_of(l, p->id, p->tgid);
	if (!h)
		return -ENOMEM;
	h->flagged = flagged;
	set_unseen(h, u, p->comm);
	return 0;
}

/* Objects known at this moment were allocated before the next collection. */
static void base_at(struct heap_state *h, uint64_t gc_no)
{
	h->base = gc_no;
	h->based = true;
	h->looks = 0;
	if (!h->gc_no_known)
		h->gc_no = (uint32_t)gc_no;
	h->gc_no_known = true;
	recorded_marked(&h->objects);
}

/*
 * The collector advances its counter before it marks finalizable objects. It has finished when the counter stands
 * still, or when a reading finds no unfinished cycle.
 */
static bool is_settled(struct liveness *l, struct heap_state *h, uint64_t gc_no)
{
	bool still = h->looks && gc_no == h->counted;
	h->counted = gc_no;
	if (still || h->looks++ >= LOOKS)
		return true;
	l->again = true;
	return false;
}

static void poll_heap(struct liveness *l, struct heap_state *h, uint64_t now)
{
	uint64_t gc_no;
	if (marks_count(l->marks, h->tgid, &gc_no))
		return;
	if (!h->based || gc_no == h->base) {
		base_at(h, gc_no);
		return;
	}
	if (!is_settled(l, h, gc_no))
		return;
	struct mark_reading *r = marks_read(l->marks, h->tgid);
	if (!r || r->heap.gc_no == h->base) { /* retried soon */
		mark_reading_free(r);
		return;
	}
	count_up_to(l, h, r->gc_no);
	h->based = false;
	h->reading = r;
	l->pending++;
	h->finished_gc = (struct event){ .kind = EVENT_GC,
					 .flags = EVENT_F_GC,
					 .proc = h->proc,
					 .tid = h->tgid,
					 .time_ns = now,
					 .enter_ns = now,
					 .gc_no = r->gc_no };
}

void liveness_poll(struct liveness *l, uint64_t now_ns, uint64_t no_room)
{
	l->no_room = no_room;
	if (now_ns - l->asked_ns < (l->again ? AGAIN_NS : ASK_NS))
		return;
	l->asked_ns = now_ns;
	l->again = false;
	for (size_t i = 0; i < l->heaps_cnt; i++) {
		struct heap_state *h = l->heaps[i];
		if (h->unseen || l->no_room != h->no_room)
			look(l, h);
		if (is_polled(h) && !h->finished_gc.kind)
			poll_heap(l, h, now_ns);
	}
}

/* A collector that has never collected has freed nothing, so nothing is unknown. */
static bool is_unjudged(const struct heap_state *h)
{
	if (h->unseen)
		return !is_polled(h);
	return h->facts.state == MARKS_IMPOSSIBLE || (h->facts.state == MARKS_WAITING && h->collections);
}

static void add_unrecorded(struct summary *s, const struct heap_state *h)
{
	const struct unrecorded *of = &h->unrecorded;
	bool copied = h->origin == ORIGIN_PARENT;
	s->unknown += of->cnt;
	s->unknown_sz += of->bytes;
	*(copied ? &s->inherited : &s->older) += of->older_cnt;
	*(copied ? &s->inherited_sz : &s->older_sz) += of->older_bytes;
	s->empty += of->now.empty.count;
	s->empty_sz += of->now.empty.bytes;
	s->older_empty += copied ? 0 : of->empty_cnt;
	s->older_empty_sz += copied ? 0 : of->empty_bytes;
	s->uncompared += h->origin == ORIGIN_BEFORE && !of->looked;
	s->marked_sz += of->now.marked_bytes;
}

static void add_reached(struct summary *s, const struct heap_state *h)
{
	s->reached += h->reached;
	s->reached_sz += h->reached_sz;
	s->unread += !h->read_whole;
	s->since += h->read_whole ? h->collections - h->read_whole : 0;
}

/* The mark reader's message names the process, so it is not added again. */
static void note_unjudged(struct exactness_heaps *of, const struct heap_state *h)
{
	const struct unseen u = { h->unseen, h->unseen_error, h->object }, unread = { GC_UNREADABLE, 0, h->facts.failed.text };
	if (h->unseen)
		exactness_note(of, h->tgid, h->comm, &u);
	else
		exactness_note(of, 0, NULL, &unread);
}

static void sum_up(struct liveness *l, struct heap_state *h, struct summary *s)
{
	look(l, h);
	s->heaps++;
	if (is_unjudged(h))
		note_unjudged(&s->unjudged, h);
	else if (is_polled(h))
		note_unjudged(&s->polled, h);
	if (h->facts.incremental)
		s->incremental_tgid = h->tgid;
	s->never_compared += h->collections && !h->unrecorded.looked;
	add_unrecorded(s, h);
	add_reached(s, h);
}

static void drop(struct liveness *l, struct heap_state *h)
{
	uint64_t *at = map_get(&l->by_proc, h->proc.n);
	struct heap_state *last = l->heaps[--l->heaps_cnt];
	if (at) {
		l->heaps[*at] = last;
		*map_get(&l->by_proc, last->proc.n) = *at;
	}
	map_del(&l->by_proc, h->proc.n);
	l->last = NULL;
	end_compare(l, h);
	heap_state_free(h);
}

struct older_report {
	struct liveness *l;
	struct proc_id proc;
};

static int report_row(void *ctx, const char *type, uint64_t cnt, uint64_t bytes)
{
	const struct older_report *t = ctx;
	return t->l->ops.older(t->l->ops.ctx, t->proc, type, cnt, bytes);
}

/* While types are unknown, reporting waits for them; only the last report falls back to sizes. */
static void report_older(struct liveness *l, struct heap_state *h, uint64_t now, bool last)
{
	const struct unrecorded *s = &h->unrecorded;
	struct older_report t = { l, h->proc };
	const struct types *types;
	if (h->origin != ORIGIN_BEFORE || !s->looked ||
	    (s->older_cnt == h->reported_cnt && s->older_bytes == h->reported_bytes) || (!last && now < h->report_at_ns))
		return;
	if (!marks_types(l->marks, h->tgid, &types) && !last)
		return;
	uint64_t began = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (!l->ops.older(l->ops.ctx, h->proc, NULL, 0, 0) && !older_rows(s, types, report_row, &t)) {
		h->reported_cnt = s->older_cnt;
		h->reported_bytes = s->older_bytes;
	}
	h->report_at_ns = now + (clock_ns(CLOCK_THREAD_CPUTIME_ID) - began) * REPORT_SHARE;
}

void liveness_report_older(struct liveness *l, uint64_t now_ns, bool all)
{
	for (size_t i = 0; i < l->heaps_cnt; i++)
		report_older(l, l->heaps[i], now_ns, all);
}

void liveness_gone(struct liveness *l, struct proc_id proc, uint64_t time_ns)
{
	struct heap_state *h = heap_known(l, proc);
	if (!h)
		return;
	conclude(l, h);
	report_older(l, h, 0, true);
	sum_up(l, h, &l->gone);
	marks_forget(l->marks, h->tgid, time_ns);
	drop(l, h);
}

static bool is_bound(const struct exactness *e)
{
	return e->unjudged.cnt || e->polled.cnt || e->incremental_tgid || e->missed || e->lost || e->unknown || e->uncompared;
}

void liveness_exactness(struct liveness *l, uint64_t lost, struct exactness *out)
{
	struct summary s = l->gone;
	for (size_t i = 0; i < l->heaps_cnt; i++)
		sum_up(l, l->heaps[i], &s);
	*out = (struct exactness){ .unjudged = s.unjudged, .part = l->ops.part };
	if (!s.heaps || s.unjudged.cnt == s.heaps) {
		out->state = s.heaps ? EXACTNESS_NONE : EXACTNESS_NO_HEAP;
		return;
	}
	out->polled = s.polled;
	out->incremental_tgid = s.incremental_tgid;
	out->missed = l->counts.missed;
	out->collections = l->counts.collections;
	out->lost = lost;
	out->unknown = s.unknown;
	out->unknown_sz = s.unknown_sz;
	out->marked_sz = s.marked_sz;
	out->uncompared = s.never_compared && !l->ops.part;
	out->state = is_bound(out) ? EXACTNESS_BOUND : EXACTNESS_EXACT;
}

struct liveness_counts liveness_counts(const struct liveness *l)
{
	struct liveness_counts c = l->counts;
	struct summary s = l->gone;
	for (size_t i = 0; i < l->heaps_cnt; i++) {
		add_unrecorded(&s, l->heaps[i]);
		add_reached(&s, l->heaps[i]);
	}
	c.unknown = s.unknown;
	c.unknown_sz = s.unknown_sz;
	c.older = s.older;
	c.older_sz = s.older_sz;
	c.empty = s.empty;
	c.empty_sz = s.empty_sz;
	c.older_empty = s.older_empty;
	c.older_empty_sz = s.older_empty_sz;
	c.inherited = s.inherited;
	c.inherited_sz = s.inherited_sz;
	c.uncompared = s.uncompared;
	c.reached = s.reached;
	c.reached_sz = s.reached_sz;
	c.unread = s.unread;
	c.since = s.since;
	return c;
}
