/* SPDX-License-Identifier: Apache-2.0 */
/* target/reports: the kernel's records of mappings are kept until events of their time are read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "target/reports.h"

#define MANY 20000
#define KEPT 4096

static struct report told(uint32_t tgid, uint64_t time_ns, uint64_t start, bool replaces)
{
	return (struct report){
		.tgid = tgid,
		.time_ns = time_ns,
		.replaces = replaces,
		.line = { .start = start, .end = start + 0x1000, .ino = 1, .exec = true, .past = true, .path = "/lib/one.so" },
	};
}

static void put(struct reports *r, uint32_t tgid, uint64_t time_ns, uint64_t start, bool replaces)
{
	const struct report one = told(tgid, time_ns, start, replaces);
	assert_int_equal(reports_put(r, &one), 0);
}

static void assert_by_time(const struct reports *r)
{
	for (size_t i = 1; i < r->list_cnt; i++)
		assert_true(r->list[i - 1].time_ns <= r->list[i].time_ns);
}

/* Processors are read one after the other. */
static void test_by_time_however_they_come(void **state)
{
	static const uint64_t times[] = { 50, 10, 40, 10, 60, 20, 1, 60 };
	struct reports r = { 0 };
	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		put(&r, 1, times[i], 0x1000 * i, false);
	assert_int_equal(r.list_cnt, 8);
	assert_by_time(&r);
	/* At the same time: in the order of the records. */
	assert_int_equal(r.list[1].line.start, 0x1000);
	assert_int_equal(r.list[2].line.start, 0x3000);
	reports_free(&r);
	assert_null(r.list);
	assert_int_equal(r.list_cnt, 0);
}

/* The next record overwrites the reader's. */
static void test_paths_are_its_own(void **state)
{
	struct reports r = { 0 };
	char path[5000];
	(void)state;
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = 0;
	struct report one = told(1, 5, 0x1000, false);
	one.line.path = path;
	assert_int_equal(reports_put(&r, &one), 0);
	memset(path, 'y', sizeof(path) - 1);
	assert_int_equal(strlen(r.list[0].line.path), sizeof(path) - 1);
	assert_int_equal(r.list[0].line.path[0], 'x');
	reports_free(&r);
}

static void test_each_process_in_its_time(void **state)
{
	struct reports r = { 0 };
	(void)state;
	put(&r, 1, 30, 0x1000, false);
	put(&r, 2, 10, 0x1000, false);
	put(&r, 1, 20, 0x2000, false);
	assert_null(reports_first(&r, 1, 19));
	assert_int_equal(reports_first(&r, 1, 20)->line.start, 0x2000);
	assert_int_equal(reports_first(&r, 1, UINT64_MAX)->time_ns, 20);
	assert_int_equal(reports_first(&r, 2, 10)->time_ns, 10);
	assert_null(reports_first(&r, 3, UINT64_MAX));
	reports_free(&r);
	assert_null(reports_first(&r, 1, UINT64_MAX));
}

/* An address changes its meaning only where something else was mapped. */
static void test_due_when_one_replaces_another(void **state)
{
	struct reports r = { 0 };
	(void)state;
	assert_int_equal(reports_due(&r), UINT64_MAX);
	assert_null(reports_first_replacing(&r));
	put(&r, 1, 10, 0x1000, false);
	assert_int_equal(reports_due(&r), UINT64_MAX);
	put(&r, 1, 40, 0x1000, true);
	put(&r, 2, 30, 0x1000, true);
	assert_int_equal(reports_due(&r), 30);
	assert_int_equal(reports_first_replacing(&r)->tgid, 2);
	reports_drop(&r, reports_first_replacing(&r));
	assert_int_equal(reports_due(&r), 40);
	reports_drop(&r, reports_first_replacing(&r));
	assert_int_equal(reports_due(&r), UINT64_MAX);
	assert_int_equal(r.list_cnt, 1);
	reports_free(&r);
}

static void test_overlapping(void **state)
{
	struct reports r = { 0 };
	(void)state;
	put(&r, 1, 10, 0x1000, false);
	put(&r, 1, 20, 0x1000, false);
	put(&r, 1, 30, 0x3000, false);
	put(&r, 2, 40, 0x1000, false);
	assert_int_equal(reports_overlapping(&r, 1, 0, 0x1000, 0x2000), 2);
	assert_int_equal(reports_overlapping(&r, 1, 10, 0x1000, 0x2000), 1);
	assert_int_equal(reports_overlapping(&r, 1, 20, 0x1000, 0x2000), 0);
	assert_int_equal(reports_overlapping(&r, 1, 0, 0x1fff, 0x3001), 3);
	/* A mapping that ends where another begins does not affect it. */
	assert_int_equal(reports_overlapping(&r, 1, 0, 0x2000, 0x3000), 0);
	assert_int_equal(reports_overlapping(&r, 1, 0, 0, UINT64_MAX), 3);
	assert_int_equal(reports_overlapping(&r, 1, UINT64_MAX, 0, UINT64_MAX), 0);
	reports_free(&r);
}

static void test_forgets_one_process_until_then(void **state)
{
	struct reports r = { 0 };
	(void)state;
	for (uint64_t i = 1; i <= 10; i++)
		put(&r, i % 2 ? 1 : 2, i, 0x1000 * i, true);
	reports_forget(&r, 1, 5);
	assert_int_equal(r.list_cnt, 7);
	assert_int_equal(reports_first(&r, 1, UINT64_MAX)->time_ns, 7);
	assert_int_equal(reports_due(&r), 2);
	reports_forget(&r, 2, UINT64_MAX);
	assert_int_equal(r.list_cnt, 2);
	assert_null(reports_first(&r, 2, UINT64_MAX));
	assert_by_time(&r);
	reports_forget(&r, 1, UINT64_MAX);
	assert_int_equal(r.list_cnt, 0);
	assert_int_equal(reports_due(&r), UINT64_MAX);
	reports_free(&r);
}

/* A process that maps without end costs no more than this; its last records are kept. */
static void test_hostile_amounts(void **state)
{
	struct reports r = { 0 };
	(void)state;
	for (uint64_t i = 1; i <= MANY; i++)
		put(&r, 1, i, 0x1000 * (i % 7), i % 2);
	assert_int_equal(r.list_cnt, KEPT);
	assert_true(r.list_cap <= 2 * KEPT);
	assert_int_equal(r.list[0].time_ns, MANY - KEPT + 1);
	assert_int_equal(r.list[KEPT - 1].time_ns, MANY);
	assert_by_time(&r);
	assert_int_equal(reports_overlapping(&r, 1, 0, 0, UINT64_MAX), KEPT);
	reports_forget(&r, 1, UINT64_MAX);
	assert_int_equal(r.list_cnt, 0);
	reports_free(&r);
}

/* Times that only go back, and those at both ends. */
static void test_hostile_times(void **state)
{
	struct reports r = { 0 };
	(void)state;
	for (uint64_t i = MANY; i-- > 0;)
		put(&r, 1, i, 0x1000, true);
	put(&r, 1, UINT64_MAX, 0x1000, true);
	put(&r, 1, 0, 0x1000, true);
	assert_int_equal(r.list_cnt, KEPT);
	assert_by_time(&r);
	assert_int_equal(reports_due(&r), 0);
	assert_int_equal(r.list[KEPT - 1].time_ns, UINT64_MAX);
	reports_forget(&r, 1, UINT64_MAX);
	assert_int_equal(r.list_cnt, 0);
	reports_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_time_however_they_come),
		cmocka_unit_test(test_paths_are_its_own),
		cmocka_unit_test(test_each_process_in_its_time),
		cmocka_unit_test(test_due_when_one_replaces_another),
		cmocka_unit_test(test_overlapping),
		cmocka_unit_test(test_forgets_one_process_until_then),
		cmocka_unit_test(test_hostile_amounts),
		cmocka_unit_test(test_hostile_times),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
