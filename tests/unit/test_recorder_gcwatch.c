/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder/gcwatch: when watching of collections begins, where heaps come from, and what is reported of them. The reader of
 * marks and its findings are mocks (tests/tests.mk wraps both).
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

#include "catalog/consumer.h"
#include "probe/probe.h"
#include "recorder/gcwatch.h"

/* Requests to the two mocks, and their answers. */
static struct {
	size_t readers, settled, forgotten, gone, freed;
	uint32_t watched;
	bool stop, compare;
	int refusal, unseen_refusal; /* of a reader; of a process that cannot be observed */
	struct unseen unseen;
	uint32_t unseen_tgid;
	struct liveness_ops ops;
	uint64_t no_room, lost;
} parts;

#define READER ((struct marks *)&parts.readers)
#define LIVENESS ((struct liveness *)&parts.gone)

struct marks *__wrap_marks_new(struct probe *p, bool stop, bool compare, struct err *err);
struct marks *__wrap_marks_new(struct probe *p, bool stop, bool compare, struct err *err)
{
	(void)p;
	if (parts.refusal) {
		err_set(err, parts.refusal, "no reader");
		return NULL;
	}
	parts.readers++;
	parts.stop = stop;
	parts.compare = compare;
	return READER;
}

void __wrap_marks_free(struct marks *m);
void __wrap_marks_free(struct marks *m)
{
	parts.freed += m != NULL;
}

void __wrap_marks_watch(struct marks *m, uint32_t tgid);
void __wrap_marks_watch(struct marks *m, uint32_t tgid)
{
	assert_ptr_equal(m, READER);
	parts.watched = tgid;
}

void __wrap_marks_settle(struct marks *m, uint32_t tgid);
void __wrap_marks_settle(struct marks *m, uint32_t tgid)
{
	(void)m;
	parts.settled += tgid == parts.watched;
}

void __wrap_marks_forget(struct marks *m, uint32_t tgid, uint64_t time_ns);
void __wrap_marks_forget(struct marks *m, uint32_t tgid, uint64_t time_ns)
{
	(void)m, (void)tgid, (void)time_ns;
	parts.forgotten++;
}

struct liveness *__wrap_liveness_new(struct marks *m, const struct liveness_ops *ops);
struct liveness *__wrap_liveness_new(struct marks *m, const struct liveness_ops *ops)
{
	assert_ptr_equal(m, READER);
	parts.ops = *ops;
	return LIVENESS;
}

void __wrap_liveness_free(struct liveness *l);
void __wrap_liveness_free(struct liveness *l)
{
	(void)l;
}

int __wrap_liveness_unseen(struct liveness *l, const struct proc *p, const struct unseen *u, bool flagged);
int __wrap_liveness_unseen(struct liveness *l, const struct proc *p, const struct unseen *u, bool flagged)
{
	(void)l, (void)flagged;
	parts.unseen = *u;
	parts.unseen_tgid = p->tgid;
	return parts.unseen_refusal;
}

void __wrap_liveness_gone(struct liveness *l, struct proc_id proc, uint64_t time_ns);
void __wrap_liveness_gone(struct liveness *l, struct proc_id proc, uint64_t time_ns)
{
	(void)l, (void)proc, (void)time_ns;
	parts.gone++;
}

void __wrap_liveness_exactness(struct liveness *l, uint64_t lost, struct exactness *out);
void __wrap_liveness_exactness(struct liveness *l, uint64_t lost, struct exactness *out)
{
	(void)l;
	parts.lost = lost;
	*out = (struct exactness){ .state = EXACTNESS_EXACT };
}

void __wrap_liveness_report_older(struct liveness *l, uint64_t now_ns, bool all);
void __wrap_liveness_report_older(struct liveness *l, uint64_t now_ns, bool all)
{
	(void)l, (void)now_ns, (void)all;
}

void __wrap_liveness_poll(struct liveness *l, uint64_t now_ns, uint64_t no_room);
void __wrap_liveness_poll(struct liveness *l, uint64_t now_ns, uint64_t no_room)
{
	(void)l, (void)now_ns;
	parts.no_room = no_room;
}

int __wrap_probe_stats(const struct probe *p, struct probe_stats *out);
int __wrap_probe_stats(const struct probe *p, struct probe_stats *out)
{
	(void)p;
	*out = (struct probe_stats){ 0 };
	out->n[ALYS_ST_GC_NO_ROOM] = 3;
	out->n[ALYS_ST_LOST_GC] = 5;
	return 0;
}

struct scene {
	struct handles h;
	struct record_options o;
	struct consumer out;
	struct gc_watch g;
	size_t events, told;
	uint64_t cnt; /* of the objects reported last */
};

static void on_event(void *ctx, const struct event *e)
{
	(void)e;
	((struct scene *)ctx)->events++;
}

static int take(void *ctx, const struct event *e)
{
	(void)ctx, (void)e;
	return 0;
}

static int define(void *ctx, const struct definition *d)
{
	struct scene *s = ctx;
	assert_int_equal(d->kind, DEFINITION_OLDER);
	s->told++;
	s->cnt = d->older->cnt;
	return 0;
}

static int set_up(void **state)
{
	static const struct record_options o = RECORD_DEFAULTS;
	struct scene *s = calloc(1, sizeof(*s));
	memset(&parts, 0, sizeof(parts));
	s->o = o;
	s->out = (struct consumer){ .ctx = s, .event = take, .define = define };
	s->h = (struct handles){ .o = &s->o, .catalog = catalog_new(), .out = &s->out };
	s->g = (struct gc_watch){ .h = &s->h, .ctx = s, .event = on_event };
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;
	gcwatch_free(&s->g);
	catalog_free(s->h.catalog);
	free(s);
	return 0;
}

static const struct proc *process(struct scene *s, struct proc p)
{
	p.id.n = 1;
	p.tgid = 70;
	p.comm = p.exe = "a\033b";
	catalog_put_proc(s->h.catalog, &p);
	return catalog_proc(s->h.catalog, p.id);
}

static const struct unseen blind = { GC_NO_SYMBOL, 0, "a\033b" };

static void assert_said(struct scene *s, bool collected, const char *wanted)
{
	struct exactness e;
	struct buf text = { 0 };
	gcwatch_exactness(&s->g, collected, &e);
	exactness_text(&e, &text);
	assert_string_equal(buf_str(&text), wanted);
	buf_free(&text);
}

static void nothing_runs_before_the_first_collector(void **state)
{
	struct scene *s = *state;
	gcwatch_gone(&s->g, (struct proc_id){ 1 }, 70, 1);
	gcwatch_poll(&s->g, 1);
	gcwatch_count(&s->g);
	assert_said(s, false, "");
	assert_int_equal(gcwatch_read_until(&s->g, 1), 0);
	assert_int_equal(parts.readers + parts.gone + parts.forgotten, 0);
	gcwatch_free(&s->g);
	assert_int_equal(parts.freed, 0);
}

static void one_reader_is_of_all_processes(void **state)
{
	struct scene *s = *state;
	struct err err;
	assert_int_equal(gcwatch_add(&s->g, 70, &err), 0);
	assert_int_equal(gcwatch_add(&s->g, 71, &err), 0);
	assert_int_equal(parts.readers, 1);
	assert_int_equal(parts.watched, 71);
	assert_int_equal(parts.settled, 2);
	assert_true(parts.compare);
	assert_false(parts.stop);
	assert_int_equal(parts.ops.part, PART_ALL);
	parts.ops.event(parts.ops.ctx, &(struct event){ 0 });
	assert_int_equal(s->events, 1);
	gcwatch_gone(&s->g, (struct proc_id){ 1 }, 70, 1);
	assert_int_equal(parts.gone, 1);
	assert_int_equal(parts.forgotten, 1);
}

/* With marks for some of the objects nothing is known about the others. */
static void a_part_of_the_objects_is_not_compared(void **state)
{
	struct scene *s = *state;
	struct err err;
	s->o.min_size = 100;
	s->o.stop_at_gc = true;
	assert_int_equal(gcwatch_add(&s->g, 70, &err), 0);
	assert_int_equal(parts.ops.part, PART_RECORDED);
	assert_false(parts.compare);
	assert_true(parts.stop);
	gcwatch_free(&s->g);
	s->g.h = &s->h;
	s->o.interval = 4096;
	assert_int_equal(gcwatch_add(&s->g, 70, &err), 0);
	assert_int_equal(parts.ops.part, PART_SAMPLED);
}

static void a_heap_has_an_origin(void **state)
{
	struct scene *s = *state;
	struct err err;
	gcwatch_add(&s->g, 70, &err);
	const struct {
		struct proc proc;
		const char *command[2];
		enum heap_origin origin;
	} cases[] = {
		{ { .parent = { 0 } }, { NULL }, ORIGIN_BEFORE },
		{ { .parent = { 0 } }, { "a" }, ORIGIN_RECORDING },
		{ { .parent = { 9 } }, { NULL }, ORIGIN_PARENT },
		{ { .parent = { 9 }, .generation = 1 }, { NULL }, ORIGIN_RECORDING },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct proc *p = process(s, cases[i].proc);
		s->o.command = cases[i].command[0] ? (char **)(uintptr_t)cases[i].command : NULL;
		assert_int_equal(parts.ops.origin(parts.ops.ctx, p->id), cases[i].origin);
	}
}

/* A type without objects left in the process is reported with 0. */
static void what_is_left_from_before_is_told_anew(void **state)
{
	struct scene *s = *state;
	struct err err;
	gcwatch_add(&s->g, 70, &err);
	gcwatch_report_older(&s->g, 1, false);
	assert_int_equal(s->told, 0);
	assert_int_equal(parts.ops.older(parts.ops.ctx, (struct proc_id){ 1 }, "Foo", 4, 128), 0);
	gcwatch_report_older(&s->g, 2, false);
	assert_int_equal(s->told, 1);
	assert_int_equal(s->cnt, 4);
	assert_int_equal(parts.ops.older(parts.ops.ctx, (struct proc_id){ 2 }, NULL, 0, 0), 0);
	gcwatch_report_older(&s->g, 3, false);
	assert_int_equal(s->cnt, 4);
	assert_int_equal(parts.ops.older(parts.ops.ctx, (struct proc_id){ 1 }, NULL, 0, 0), 0);
	gcwatch_report_older(&s->g, 4, true);
	assert_int_equal(s->told, 3);
	assert_int_equal(s->cnt, 0);
}

static void who_cannot_be_observed_is_named(void **state)
{
	struct scene *s = *state;
	const struct proc *p = process(s, (struct proc){ 0 });
	gcwatch_unseen(&s->g, p, &blind, false);
	assert_int_equal(parts.unseen_tgid, 70);
	assert_int_equal(parts.unseen.why, GC_NO_SYMBOL);
	assert_said(s, true, "exact");
	assert_int_equal(parts.lost, 5);
	parts.unseen_refusal = -ENOMEM;
	gcwatch_unseen(&s->g, p, &blind, false);
	assert_said(s, true, "none (a\\x1bb: no symbol GC_gc_no: collections cannot be watched)");
}

static void without_a_reader_there_is_none(void **state)
{
	struct scene *s = *state;
	struct err err;
	parts.refusal = EMFILE;
	assert_int_equal(gcwatch_add(&s->g, 70, &err), -EMFILE);
	gcwatch_unseen(&s->g, process(s, (struct proc){ 0 }), &(struct unseen){ GC_NO_READER, EMFILE, NULL }, true);
	assert_said(s, true, "none (the mark reader could not be started: Too many open files)");
	assert_said(s, false, "");
}

static void the_kernel_says_who_had_no_room(void **state)
{
	struct scene *s = *state;
	struct err err;
	gcwatch_add(&s->g, 70, &err);
	gcwatch_poll(&s->g, 1);
	assert_int_equal(parts.no_room, 0);
	gcwatch_count(&s->g);
	gcwatch_poll(&s->g, 2);
	assert_int_equal(parts.no_room, 3);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_runs_before_the_first_collector), TEST(one_reader_is_of_all_processes),
		TEST(a_part_of_the_objects_is_not_compared),   TEST(a_heap_has_an_origin),
		TEST(what_is_left_from_before_is_told_anew),   TEST(who_cannot_be_observed_is_named),
		TEST(without_a_reader_there_is_none),          TEST(the_kernel_says_who_had_no_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
