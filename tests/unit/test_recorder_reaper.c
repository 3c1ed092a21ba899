/* SPDX-License-Identifier: Apache-2.0 */
/* recorder/reaper: ends of processes that were not reported, and what remains of ended ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/reaper.h"

#define SECOND 1000000000ull

static void test_silent_once_all_was_read(void **state)
{
	struct reaper r = { 0 };
	(void)state;
	assert_false(reaper_is_silent(&r, 7, 0, 100));
	assert_false(reaper_is_silent(&r, 7, 100, 200)); /* the ring was read up to that time */
	assert_true(reaper_is_silent(&r, 7, 101, 300));
	/* Its number was reused: the new process is waited for again. */
	reaper_note(&r, 7, 300);
	assert_false(reaper_is_silent(&r, 7, 350, 400));
	reaper_free(&r);
}

static void test_victims(void **state)
{
	struct reaper r = { 0 };
	const struct proc_id one = { 1 }, none = { 0 };
	(void)state;
	reaper_note_victim(&r, none); /* of no recorded process */
	assert_int_equal(r.victims.count, 0);
	reaper_note_victim(&r, one);
	assert_true(reaper_take_victim(&r, one));
	assert_false(reaper_take_victim(&r, one));
	reaper_free(&r);
}

static void test_sweep(void **state)
{
	struct reaper r = { 0 };
	struct map ended;
	(void)state;
	assert_false(reaper_sweep(&r, 10 * SECOND, &ended)); /* none ended */
	reaper_note(&r, 7, 1);
	reaper_note(&r, 8, 2);
	assert_true(reaper_sweep(&r, 10 * SECOND, &ended));
	assert_int_equal(ended.count, 2);
	assert_int_equal(*map_get(&ended, 8), 2);
	map_free(&ended);
	reaper_note(&r, 9, 3);
	assert_false(reaper_sweep(&r, 11 * SECOND, &ended)); /* too soon after the last one */
	assert_true(reaper_sweep(&r, 15 * SECOND, &ended));
	assert_int_equal(ended.count, 1);
	map_free(&ended);
	reaper_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_silent_once_all_was_read),
		cmocka_unit_test(test_victims),
		cmocka_unit_test(test_sweep),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
