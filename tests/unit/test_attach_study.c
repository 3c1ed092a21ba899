/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach/study: which files are waited for, what is requested of their examination, and that each request has one answer. The
 * examination is a mock (tests/tests.mk wraps it).
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attach/study.h"

static struct {
	size_t now, queued, ready; /* examined at once, asked for, finished */
	int refusal;
	struct examination last;
} examiner;

struct examinations *__wrap_examinations_new(const struct examinations_ops *ops, struct err *err);
struct examinations *__wrap_examinations_new(const struct examinations_ops *ops, struct err *err)
{
	(void)err;
	assert_non_null(ops->open);
	return (struct examinations *)&examiner;
}

void __wrap_examinations_free(struct examinations *x);
void __wrap_examinations_free(struct examinations *x)
{
	(void)x;
}

void __wrap_examinations_now(struct examinations *x, const struct examination *e, struct findings *out);
void __wrap_examinations_now(struct examinations *x, const struct examination *e, struct findings *out)
{
	(void)x;
	examiner.now++;
	examiner.last = *e;
	*out = (struct findings){ .module = e->module, .asked = e->ask.parts };
}

int __wrap_examinations_ask(struct examinations *x, const struct examination *e);
int __wrap_examinations_ask(struct examinations *x, const struct examination *e)
{
	(void)x;
	examiner.queued += !examiner.refusal;
	examiner.last = *e;
	return examiner.refusal;
}

bool __wrap_examinations_take(struct examinations *x, struct findings *out);
bool __wrap_examinations_take(struct examinations *x, struct findings *out)
{
	(void)x;
	*out = (struct findings){ .module = { 1 } };
	return examiner.ready && examiner.ready--;
}

struct scene {
	struct handles h;
	struct record_options o;
	struct study *study;
	size_t found;
	int failed; /* the last one, why */
};

static void on_found(void *ctx, struct findings *f)
{
	struct scene *s = ctx;
	assert_int_equal(f->module.n, 1);
	s->found++;
	s->failed = f->failed.code;
}

static int set_up(void **state)
{
	static const struct record_options o = RECORD_DEFAULTS;
	struct scene *s = calloc(1, sizeof(*s));
	const struct study_ops ops = { .ctx = s, .found = on_found };
	struct err err;
	memset(&examiner, 0, sizeof(examiner));
	s->o = o;
	s->h = (struct handles){ .o = &s->o };
	s->study = study_new(&s->h, 3, &ops, &err);
	*state = s;
	return s->study ? 0 : -1;
}

static int tear_down(void **state)
{
	struct scene *s = *state;
	study_free(s->study);
	free(s);
	return 0;
}

static const struct module file = { .id = { 1 }, .path = "/usr/lib/libgc.so.1" };

static void who_stands_still_is_waited_for(void **state)
{
	static const struct {
		bool flowing, held, many, waits;
	} cases[] = {
		{ false, false, false, true }, /* before a recording of few processes */
		{ false, false, true, false }, { true, false, false, false },
		{ true, false, true, false },  { true, true, true, true }, /* the process is stopped until then */
	};
	struct scene *s = *state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t now = examiner.now, queued = examiner.queued, found = s->found;
		s->h.flowing = cases[i].flowing;
		s->h.held = cases[i].held;
		s->h.select = cases[i].many ? (const struct select *)(const void *)&file : NULL;
		study_file(s->study, &file, 5, FINDINGS_ROWS);
		assert_int_equal(examiner.now - now, cases[i].waits);
		assert_int_equal(examiner.queued - queued, !cases[i].waits);
		assert_int_equal(s->found - found, cases[i].waits);
		assert_int_equal(examiner.last.fd, 5);
		assert_int_equal(examiner.last.ask.parts, FINDINGS_ROWS);
		assert_int_equal(examiner.last.ask.families, 3);
		assert_true(examiner.last.first);
	}
	study_now(s->study, &file, 5, FINDINGS_ROWS);
	assert_int_equal(examiner.now, 3);
}

static void what_is_not_taken_is_answered_too(void **state)
{
	struct scene *s = *state;
	s->h.flowing = true;
	examiner.refusal = -ENOBUFS;
	study_file(s->study, &file, 5, FINDINGS_ROWS);
	assert_int_equal(s->found, 1);
	assert_int_equal(s->failed, ENOBUFS);
}

static void answers_come_later(void **state)
{
	struct scene *s = *state;
	s->h.flowing = true;
	study_file(s->study, &file, 5, FINDINGS_ROWS);
	study_look(s->study);
	assert_int_equal(s->found, 0);
	examiner.ready = 2;
	study_look(s->study);
	assert_int_equal(s->found, 2);
	assert_int_equal(s->failed, 0);
}

/* With refills only blocks are known. */
static void refills_are_sampled_where_they_can_be(void **state)
{
	static const struct {
		uint64_t interval;
		uint32_t at;
		bool returns;
		uint64_t min_size;
		bool refill;
	} cases[] = {
		{ 0, SAMPLE_AT_REFILL, false, 0, false },     { 1 << 20, SAMPLE_AT_ANY, false, 0, true },
		{ 1 << 20, SAMPLE_AT_ANY, false, 64, false }, { 1 << 20, SAMPLE_AT_ANY, true, 0, false },
		{ 1 << 20, SAMPLE_AT_CALL, false, 0, false }, { 16, SAMPLE_AT_ANY, false, 0, false },
		{ 16, SAMPLE_AT_REFILL, false, 0, true },
	};
	struct scene *s = *state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		s->o.interval = cases[i].interval;
		s->o.sample_at = cases[i].at;
		s->o.return_probes = cases[i].returns;
		s->o.min_size = cases[i].min_size;
		study_file(s->study, &file, 5, FINDINGS_SITES);
		assert_int_equal(examiner.last.ask.refill, cases[i].refill);
		assert_int_equal(examiner.last.ask.at_entry, cases[i].returns);
	}
}

static void likely_files_come_first(void **state)
{
	(void)state;
	assert_true(study_comes_first("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"));
	assert_false(study_comes_first("/usr/lib/x86_64-linux-gnu/libz.so.1"));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_stands_still_is_waited_for),        TEST(what_is_not_taken_is_answered_too), TEST(answers_come_later),
		TEST(refills_are_sampled_where_they_can_be), TEST(likely_files_come_first),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
