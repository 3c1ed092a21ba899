/* SPDX-License-Identifier: Apache-2.0 */
/* recorder/ledger: hits = recorded + skipped + lost, while recording, at the end, and in each of its files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "catalog/consumer.h"
#include "recorder/ledger.h"

static const uint64_t no_ends[STACK_END_CNT], no_reasons[ROWLESS_CNT];
static const struct record_options options;

struct scene {
	struct handles h;
	struct ledger ledger;
	struct ledger_sources in;
	struct event losses[8];
	size_t losses_cnt;
};

static void on_loss(void *ctx, const struct event *e)
{
	struct scene *s = ctx;
	assert_int_equal(e->kind, EVENT_LOSS);
	s->losses[s->losses_cnt++] = *e;
}

/* 100 calls: 60 arrive, 7 were skipped, 13 are lost in the kernel, 20 are in the ring. */
static int set_up(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));
	s->h = (struct handles){ .o = &options, .catalog = catalog_new() };
	s->ledger = (struct ledger){ .h = &s->h, .ctx = s, .event = on_loss };
	s->in = (struct ledger_sources){ .stack_ends = no_ends, .rowless = no_reasons };
	uint64_t *n = s->in.kernel.n;
	n[ALYS_ST_HIT_ALLOC] = 70;
	n[ALYS_ST_HIT_FREE] = 30;
	n[ALYS_ST_REC_ALLOC] = 50;
	n[ALYS_ST_REC_FREE] = 30;
	n[ALYS_ST_NESTED] = 7;
	n[ALYS_ST_LOST_RING_ALLOC] = 10;
	n[ALYS_ST_LOST_NO_RETURN] = 3;
	s->in.own.written[SUBJECT_ALLOCATIONS][EVENT_ALLOC] = 35;
	s->in.own.written[SUBJECT_ALLOCATIONS][EVENT_FREE] = 25;
	*state = s;
	return s->h.catalog ? 0 : -1;
}

static int tear_down(void **state)
{
	struct scene *s = *state;
	catalog_free(s->h.catalog);
	free(s);
	return 0;
}

static void assert_law(const struct catalog *c)
{
	assert_int_equal(catalog_sum(c, COUNT_HIT),
			 catalog_sum(c, COUNT_RECORDED) + catalog_sum(c, COUNT_SKIPPED) + catalog_sum(c, COUNT_LOST));
}

static void test_unread_is_late_and_then_lost(void **state)
{
	struct scene *s = *state;
	const struct catalog *c = s->h.catalog;
	ledger_publish(&s->ledger, &s->in, 1);
	assert_law(c);
	assert_int_equal(catalog_sum(c, COUNT_RECORDED), 60);
	assert_int_equal(catalog_sum(c, COUNT_SKIPPED), 7 + 20);
	assert_int_equal(catalog_sum(c, COUNT_LOST), 13);
	s->in.over = true;
	s->in.own.foreign = 4; /* read, and of no process */
	ledger_publish(&s->ledger, &s->in, 2);
	assert_law(c);
	assert_int_equal(catalog_count(c, "unread"), 16);
	assert_int_equal(catalog_count(c, "foreign"), 4);
	assert_int_equal(catalog_sum(c, COUNT_LOST), 13 + 20);
}

static void test_calls_under_way(void **state)
{
	struct scene *s = *state;
	s->in.kernel.n[ALYS_ST_HIT_ALLOC] += 5;
	s->in.kernel.n[ALYS_ST_WAIT_BEGIN] = 9;
	s->in.kernel.n[ALYS_ST_WAIT_END] = 4;
	ledger_publish(&s->ledger, &s->in, 1);
	assert_law(s->h.catalog);
	assert_int_equal(catalog_count(s->h.catalog, "in-flight"), 5);
}

static void test_losses_by_function(void **state)
{
	struct scene *s = *state;
	const struct probe_calls calls[] = { { .function = "malloc@libc.so.6", .lost = 2 }, { .function = "calloc@libc.so.6" } };
	s->in.calls = calls;
	s->in.calls_cnt = 2;
	ledger_publish(&s->ledger, &s->in, 1);
	assert_law(s->h.catalog);
	assert_int_equal(catalog_count(s->h.catalog, "no-return-malloc@libc.so.6"), 2);
	assert_int_equal(catalog_count(s->h.catalog, "no-return"), 1); /* the rest */
}

static void test_what_the_kernel_did_not_run(void **state)
{
	struct scene *s = *state;
	s->in.kernel.misses = 11;
	s->in.collects = true;
	s->in.collections.reclaimed = 6;
	s->in.collections.reused = 2;
	ledger_publish(&s->ledger, &s->in, 1);
	assert_law(s->h.catalog);
	assert_int_equal(catalog_sum(s->h.catalog, COUNT_HIT), 100 + 11 + 8);
	assert_int_equal(catalog_sum(s->h.catalog, COUNT_RECORDED), 60 + 8);
}

static void test_losses_are_told_once(void **state)
{
	struct scene *s = *state;
	ledger_publish(&s->ledger, &s->in, 5);
	ledger_publish(&s->ledger, &s->in, 6);
	assert_int_equal(s->losses_cnt, 1);
	assert_int_equal(s->losses[0].lost_kind, EVENT_ALLOC);
	assert_int_equal(s->losses[0].size, 10);
	s->in.kernel.n[ALYS_ST_HIT_FREE] += 2;
	s->in.kernel.n[ALYS_ST_LOST_RING_FREE] += 2;
	ledger_publish(&s->ledger, &s->in, 7);
	assert_int_equal(s->losses_cnt, 2);
	assert_int_equal(s->losses[1].lost_kind, EVENT_FREE);
	assert_int_equal(s->losses[1].size, 2);
	assert_int_equal(s->losses[1].time_ns, 7);
}

static int take_event(void *ctx, const struct event *e)
{
	(void)ctx, (void)e;
	return 0;
}

/* As in a file, the last value of a name counts. */
static int take_count(void *ctx, const struct definition *d)
{
	assert_int_equal(d->kind, DEFINITION_COUNT);
	return catalog_put_count(ctx, d->count);
}

static struct catalog *copy_of(const struct catalog *from)
{
	struct catalog *to = catalog_new();
	const struct count *n;
	for (size_t i = 0; (n = catalog_next_count(from, &i));)
		catalog_put_count(to, n);
	return to;
}

/*
 * The ledger is balanced in each of two files, although probes stay attached between them: some hits of the first have their
 * outcome in the second.
 */
static void test_each_file_adds_up(void **state)
{
	struct scene *s = *state;
	struct catalog *first = catalog_new(), *second = catalog_new();
	struct consumer out = { .ctx = first, .event = take_event, .define = take_count };
	s->h.out = &out;
	s->in.kernel.n[ALYS_ST_HIT_ALLOC] += 3; /* counted at entry; their outcome is not known yet */
	ledger_publish(&s->ledger, &s->in, 1);
	ledger_cut(&s->ledger);
	struct catalog *before = copy_of(s->h.catalog);
	assert_law(first);
	assert_int_equal(catalog_count(first, "under-way"), 3);

	out.ctx = second;
	s->ledger.account = before;
	s->in.kernel.n[ALYS_ST_FAILED] += 3;                       /* these three */
	s->in.own.written[SUBJECT_ALLOCATIONS][EVENT_ALLOC] += 15; /* all that had been in the ring */
	s->in.own.written[SUBJECT_ALLOCATIONS][EVENT_FREE] += 5;
	s->in.kernel.n[ALYS_ST_HIT_ALLOC] += 8;
	s->in.kernel.n[ALYS_ST_REC_ALLOC] += 8;
	s->in.own.written[SUBJECT_ALLOCATIONS][EVENT_ALLOC] += 8;
	ledger_publish(&s->ledger, &s->in, 2);
	ledger_cut(&s->ledger);
	assert_law(second);
	assert_law(s->h.catalog);
	assert_int_equal(catalog_count(second, "recorded"), 28);
	assert_int_equal(catalog_count(second, "hits-before-unread"), 20);
	assert_int_equal(catalog_count(second, "hits-before-under-way"), 3);
	assert_int_equal(catalog_count(second, "hits-alloc"), 8);
	catalog_free(first);
	catalog_free(before);
	catalog_free(second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_unread_is_late_and_then_lost, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_calls_under_way, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_losses_by_function, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_the_kernel_did_not_run, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_losses_are_told_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_each_file_adds_up, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
