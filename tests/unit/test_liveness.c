/* SPDX-License-Identifier: Apache-2.0 */
/*
 * liveness: what collections free, by the order of records. The readings of marks are mocks (tests/tests.mk wraps the
 * reader's functions).
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "liveness/liveness.h"

#define BASE 0x7f1234000000ull
#define TGID 70u

/* The next reading: which of the block's objects are marked, a bit each; and when it ended. */
static struct {
	bool there;
	uint64_t marked, until_ns;
	uint64_t counter; /* of collections, when asked */
	struct marks_facts facts;
	size_t forgotten;
} reader;

static uint64_t object(int i)
{
	return BASE + 64 * (uint64_t)i;
}

static struct mark_reading *reading(uint64_t serial)
{
	struct mark_reading *r = calloc(1, sizeof(*r));
	*r = (struct mark_reading){
		.tgid = TGID, .serial = serial, .gc_no = (uint32_t)reader.counter, .until_ns = reader.until_ns, .good = true
	};
	r->heap = (struct boehm_heap){ .blocks_cnt = 1, .marks_cnt = 64, .gc_no = reader.counter, .heap_bytes = 4096 };
	r->heap.blocks = calloc(1, sizeof(*r->heap.blocks));
	r->heap.marks = calloc(1, r->heap.marks_cnt);
	r->heap.blocks[0] =
		(struct heap_block){ .addr = BASE, .bytes = BOEHM_BLOCK, .size = 64, .objects = 64, .kind = HEAP_NORMAL };
	for (int i = 0; i < 64; i++)
		r->heap.marks[i] = reader.marked >> i & 1;
	return r;
}

struct mark_reading *__wrap_marks_take(struct marks *m, uint32_t tgid, uint64_t serial);
struct mark_reading *__wrap_marks_take(struct marks *m, uint32_t tgid, uint64_t serial)
{
	(void)m, (void)tgid;
	return reader.there ? reading(serial) : NULL;
}

struct mark_reading *__wrap_marks_of_none(struct marks *m, const struct intake_collection *c);
struct mark_reading *__wrap_marks_of_none(struct marks *m, const struct intake_collection *c)
{
	struct mark_reading *r = calloc(1, sizeof(*r));
	(void)m;
	*r = (struct mark_reading){
		.tgid = TGID, .serial = c->serial, .gc_no = c->gc_no, .until_ns = c->who.time_ns, .good = true
	};
	r->heap = (struct boehm_heap){ .asked = calloc(1, sizeof(uint64_t)), .gc_no = c->gc_no };
	return r;
}

struct mark_reading *__wrap_marks_read(struct marks *m, uint32_t tgid);
struct mark_reading *__wrap_marks_read(struct marks *m, uint32_t tgid)
{
	(void)m, (void)tgid;
	return reader.there ? reading(0) : NULL;
}

int __wrap_marks_count(struct marks *m, uint32_t tgid, uint64_t *gc_no);
int __wrap_marks_count(struct marks *m, uint32_t tgid, uint64_t *gc_no)
{
	(void)m, (void)tgid;
	*gc_no = reader.counter;
	return 0;
}

void __wrap_marks_watch(struct marks *m, uint32_t tgid);
void __wrap_marks_watch(struct marks *m, uint32_t tgid)
{
	(void)m, (void)tgid;
}

void __wrap_marks_forget(struct marks *m, uint32_t tgid, uint64_t time_ns);
void __wrap_marks_forget(struct marks *m, uint32_t tgid, uint64_t time_ns)
{
	(void)m, (void)tgid, (void)time_ns;
	reader.forgotten++;
}

struct marks_facts __wrap_marks_facts(struct marks *m, uint32_t tgid);
struct marks_facts __wrap_marks_facts(struct marks *m, uint32_t tgid)
{
	(void)m, (void)tgid;
	return reader.facts;
}

struct scene {
	struct liveness *l;
	struct event out[16];
	size_t out_cnt;
	uint64_t now, serial;
	bool idle;      /* nobody is woken at the end of a collection */
	uint32_t gc_no; /* at calls of the allocator */
};

static const struct proc_id proc = { 1 };
static const struct proc seen = { .id = { 1 }, .tgid = TGID, .comm = "server" };
static const struct unseen blind = { GC_NO_SYMBOL, 0, "/bin/server" }, failed = { GC_NO_PROBES, ENOSPC, "/bin/server" };

static void on_event(void *ctx, const struct event *e)
{
	struct scene *s = ctx;
	s->out[s->out_cnt++] = *e;
}

static int on_older(void *ctx, struct proc_id of, const char *type, uint64_t cnt, uint64_t bytes)
{
	(void)ctx, (void)of, (void)type, (void)cnt, (void)bytes;
	return 0;
}

static enum heap_origin origin(void *ctx, struct proc_id of)
{
	(void)ctx, (void)of;
	return ORIGIN_RECORDING;
}

static int set_up(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));
	const struct liveness_ops ops = {
		.ctx = s, .event = on_event, .older = on_older, .origin = origin, .part = PART_SAMPLED
	};
	memset(&reader, 0, sizeof(reader));
	reader.facts.state = MARKS_READY;
	reader.there = true;
	s->l = liveness_new((struct marks *)&reader, &ops); /* never dereferenced */
	*state = s;
	return s->l ? 0 : -1;
}

static int tear_down(void **state)
{
	struct scene *s = *state;
	liveness_free(s->l);
	free(s);
	return 0;
}

static void allocate(struct scene *s, int i)
{
	const struct event e = { .kind = EVENT_ALLOC,
				 .flags = EVENT_F_GC,
				 .proc = proc,
				 .addr = object(i),
				 .size = 50,
				 .time_ns = ++s->now,
				 .gc_no = s->gc_no };
	assert_int_equal(liveness_event(s->l, TGID, &e), 0);
}

static void release(struct scene *s, int i)
{
	const struct event e = { .kind = EVENT_FREE, .proc = proc, .addr = object(i), .time_ns = ++s->now };
	assert_int_equal(liveness_event(s->l, TGID, &e), 0);
}

static void phase(struct scene *s, enum intake_phase which, uint32_t gc_no)
{
	const struct intake_collection c = { .who = { .tgid = TGID, .time_ns = ++s->now },
					     .phase = which,
					     .gc_no = gc_no,
					     .serial = s->serial,
					     .idle = s->idle && which == INTAKE_GC_DONE };
	const struct event e = { .kind = EVENT_GC, .flags = EVENT_F_GC, .proc = proc, .time_ns = s->now, .gc_no = gc_no };
	assert_int_equal(liveness_collection(s->l, &c, &e), 0);
}

/* A collection ends; its marks are read a moment later. */
static void over(struct scene *s, uint32_t gc_no, uint64_t marked)
{
	reader.marked = marked;
	reader.until_ns = s->now + 10;
	reader.counter = gc_no;
	phase(s, INTAKE_GC_DONE, gc_no);
	s->serial++;
}

static void read_all(struct scene *s)
{
	s->now += 20;
	assert_int_equal(liveness_read_until(s->l, s->now), 0);
}

static void assert_said(struct scene *s, const char *wanted)
{
	struct exactness e;
	struct buf text = { 0 };
	liveness_exactness(s->l, 0, &e);
	exactness_text(&e, &text);
	assert_string_equal(buf_str(&text), wanted);
	buf_free(&text);
}

static void test_what_is_not_marked_is_dead(void **state)
{
	struct scene *s = *state;
	allocate(s, 1);
	allocate(s, 2);
	phase(s, INTAKE_GC_MARKED, 5);
	allocate(s, 3); /* after the marking: nothing is known about it */
	over(s, 5, 1u << 2);
	assert_int_equal(s->out_cnt, 0); /* records from the time of the reading are still missing */
	read_all(s);
	assert_int_equal(s->out_cnt, 2);
	assert_int_equal(s->out[0].kind, EVENT_FREE);
	assert_true(s->out[0].flags & EVENT_F_BY_GC);
	assert_int_equal(s->out[0].addr, object(1));
	assert_int_equal(s->out[1].kind, EVENT_GC);
	assert_int_equal(s->out[1].gc.dead_cnt, 1);
	assert_int_equal(s->out[1].gc.heap_sz, 4096);
	assert_said(s, "exact for what was sampled");
	phase(s, INTAKE_GC_MARKED, 6);
	over(s, 6, 1u << 2);
	read_all(s);
	assert_int_equal(s->out[2].addr, object(3));
	assert_int_equal(liveness_counts(s->l).collections, 2);
	assert_int_equal(liveness_counts(s->l).reclaimed, 2);
}

static void test_what_was_freed_meanwhile_is_freed_once(void **state)
{
	struct scene *s = *state;
	allocate(s, 1);
	phase(s, INTAKE_GC_MARKED, 1);
	over(s, 1, 0);
	release(s, 1); /* recorded before the reading ended */
	read_all(s);
	assert_int_equal(s->out_cnt, 1);
	assert_int_equal(s->out[0].kind, EVENT_GC);
	assert_int_equal(liveness_counts(s->l).reclaimed, 0);
}

static void test_handed_out_again_it_had_died(void **state)
{
	struct scene *s = *state;
	allocate(s, 1);
	allocate(s, 1);
	assert_int_equal(s->out_cnt, 1);
	assert_int_equal(s->out[0].kind, EVENT_FREE);
	assert_int_equal(s->out[0].addr, object(1));
	assert_int_equal(liveness_counts(s->l).reused, 1);
}

static void test_missed(void **state)
{
	struct scene *s = *state;
	allocate(s, 1);
	reader.there = false;
	phase(s, INTAKE_GC_MARKED, 1);
	over(s, 1, 0);
	read_all(s);
	assert_int_equal(s->out_cnt, 1); /* the collection, but not what it freed */
	assert_said(s, "upper bound (1 of 1 collections missed)");
	reader.there = true;
	phase(s, INTAKE_GC_MARKED, 4); /* two others have no record at all */
	over(s, 4, 0);
	read_all(s);
	assert_int_equal(s->out[1].addr, object(1)); /* reported by the next one */
	assert_said(s, "upper bound (3 of 4 collections missed)");
	assert_int_equal(liveness_counts(s->l).missed, 3);
}

/* Nothing sampled was left, so nobody was woken: not missed, and nothing dies. */
static void test_nobody_was_woken(void **state)
{
	struct scene *s = *state;
	reader.there = false;
	allocate(s, 1);
	s->idle = true;
	phase(s, INTAKE_GC_MARKED, 5);
	over(s, 5, 0);
	read_all(s);
	assert_int_equal(s->out_cnt, 1);
	assert_int_equal(s->out[0].kind, EVENT_GC);
	assert_int_equal(liveness_counts(s->l).missed, 0);
	assert_said(s, "exact for what was sampled");
}

static void collect(struct scene *s, uint32_t gc_no, uint64_t marked)
{
	phase(s, INTAKE_GC_MARKED, gc_no);
	over(s, gc_no, marked);
	read_all(s);
}

/* Between windows collections have no records. Where no sampled object was left, they are not missed. */
static void test_not_observed(void **state)
{
	struct scene *s = *state;
	s->gc_no = 4;
	allocate(s, 1);
	collect(s, 5, 0);
	s->gc_no = 105; /* an object comes first, then a collection */
	allocate(s, 1);
	collect(s, 106, 0);
	collect(s, 300, 0); /* a collection comes first */
	s->gc_no = 300;
	allocate(s, 1);
	assert_int_equal(liveness_counts(s->l).missed, 0);
	assert_int_equal(liveness_counts(s->l).collections, 3);
	collect(s, 303, 0); /* of the two before, one may have freed it */
	assert_int_equal(liveness_counts(s->l).missed, 2);
	assert_int_equal(liveness_counts(s->l).reclaimed, 3);
}

static void test_without_an_end(void **state)
{
	struct scene *s = *state;
	allocate(s, 1);
	phase(s, INTAKE_GC_MARKED, 1);
	s->serial++; /* its end is lost */
	phase(s, INTAKE_GC_MARKED, 2);
	over(s, 2, 0);
	read_all(s);
	assert_int_equal(liveness_counts(s->l).missed, 1);
	assert_int_equal(liveness_counts(s->l).reclaimed, 1);
}

static void test_an_end_alone_is_not_believed(void **state)
{
	struct scene *s = *state;
	allocate(s, 1);
	over(s, 1, 0); /* it is unknown which records come before its marks */
	read_all(s);
	assert_int_equal(liveness_counts(s->l).reclaimed, 0);
	assert_int_equal(liveness_counts(s->l).missed, 1);
}

static void test_process_gone(void **state)
{
	struct scene *s = *state;
	allocate(s, 1);
	phase(s, INTAKE_GC_MARKED, 1);
	over(s, 1, 0);
	liveness_gone(s->l, proc, s->now); /* what was read from it still holds */
	assert_int_equal(s->out_cnt, 2);
	assert_int_equal(reader.forgotten, 1);
	assert_said(s, "exact for what was sampled");
	liveness_gone(s->l, proc, s->now);
	assert_int_equal(s->out_cnt, 2);
}

static void test_unseen(void **state)
{
	struct scene *s = *state;
	assert_said(s, ""); /* no collected heap */
	assert_int_equal(liveness_unseen(s->l, &seen, &blind, false), 0);
	assert_said(s, "none (process 70 (server): /bin/server: no symbol GC_gc_no: collections cannot be watched)");
}

/* The first reason stays, also after the process has ended. */
static void test_no_room(void **state)
{
	static const char said[] = "none (process 70: too many processes collect garbage at once, no room was left for it)";
	struct scene *s = *state;
	allocate(s, 1);
	liveness_poll(s->l, 1000000000, 1);
	assert_said(s, said);
	assert_int_equal(liveness_unseen(s->l, &seen, &blind, false), 0);
	assert_said(s, said);
	liveness_gone(s->l, proc, s->now);
	assert_said(s, said);
}

/* Its collections are not reported, but its counter can be read. */
static void test_asked(void **state)
{
	struct scene *s = *state;
	reader.facts.counted = true;
	reader.counter = 8;
	assert_int_equal(liveness_unseen(s->l, &seen, &failed, true), 0);
	allocate(s, 1);
	allocate(s, 2);
	liveness_poll(s->l, 1000000000, 0);
	allocate(s, 3);
	reader.counter = 9;
	reader.marked = 1u << 2;
	/* Read again until the counter does not change, then applied. */
	for (uint64_t ns = 2; ns < 5; ns++)
		liveness_poll(s->l, ns * 1000000000, 0);
	s->now = 5000000000;
	read_all(s);
	assert_int_equal(s->out_cnt, 2);
	assert_int_equal(s->out[0].addr, object(1)); /* not object 3, allocated after the last check */
	assert_int_equal(s->out[1].gc_no, 9);
	assert_said(s, "upper bound (process 70 (server): /bin/server: the probes on collections could not be attached: No space "
		       "left on device: its "
		       "counter is read ten times a second instead)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_is_not_marked_is_dead, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_was_freed_meanwhile_is_freed_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_handed_out_again_it_had_died, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_missed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nobody_was_woken, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_not_observed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_without_an_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_an_end_alone_is_not_believed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_process_gone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unseen, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_room, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_asked, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
