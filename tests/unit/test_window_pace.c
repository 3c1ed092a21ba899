/* SPDX-License-Identifier: Apache-2.0 */
/* window/pace: what a byte counter would show at the end of its program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "window/pace.h"

#define LOOK_NS 50e6

/* n readings, with `rate` bytes for each ns between them. */
static void count(struct pace *p, int n, double rate)
{
	if (!p->known)
		pace_note(p, 0, 0);
	for (int i = 0; i < n; i++)
		pace_note(p, p->all + rate * LOOK_NS, p->own_ns + LOOK_NS);
}

static void it_counts_on_as_before(void **state)
{
	struct pace p = { 0 };
	(void)state;
	count(&p, 4, 3);
	assert_float_equal(pace_more(&p, p.own_ns + 1000), 3000, 1e-6);
	assert_float_equal(pace_more(&p, p.own_ns), 0, 1e-6);
	assert_float_equal(pace_more(&p, p.own_ns - 1000), 0, 1e-6);
}

static void what_is_longer_ago_counts_less(void **state)
{
	struct pace p = { 0 };
	(void)state;
	count(&p, 20, 100);
	count(&p, 20, 1);
	assert_float_equal(pace_more(&p, p.own_ns + 1000), 1000, 1);
}

/* A burst uses much CPU time, and a rest little. */
static void a_burst_is_soon_forgotten(void **state)
{
	struct pace p = { 0 };
	(void)state;
	count(&p, 2, 5);
	for (int i = 0; i < 8; i++)
		pace_note(&p, p.all, p.own_ns + 1e6);
	assert_float_equal(pace_more(&p, p.own_ns + 1e6), 0, 0.2 * 5e6);
}

/* What it had counted before the first reading took unknown time. */
static void the_first_reading_gives_no_rate(void **state)
{
	struct pace p = { 0 };
	(void)state;
	assert_float_equal(pace_more(&p, 1e9), 0, 1e-6);
	pace_note(&p, 1e9, 10);
	assert_float_equal(pace_more(&p, 1e9), 0, 1e-6);
	count(&p, 1, 2);
	assert_float_equal(pace_more(&p, p.own_ns + 1000), 2000, 1e-6);
}

/* Stops seem to have taken nearly all of the time. */
static void little_time_gives_no_absurd_rate(void **state)
{
	struct pace p = { 0 };
	(void)state;
	pace_note(&p, 0, 0);
	pace_note(&p, 1e8, 1e5);
	assert_float_equal(pace_more(&p, 1e8), 0, 1e-6);
	pace_note(&p, 2e8, -1e5);
	assert_float_equal(pace_more(&p, 1e8), 0, 1e-6);
	count(&p, 40, 5);
	assert_float_equal(pace_more(&p, p.own_ns + 1000), 5000, 50);
}

static void time_to_free_its_memory_is_none_to_allocate(void **state)
{
	struct pace p = { 0 };
	(void)state;
	count(&p, 4, 3);
	pace_note_gone(&p, p.own_ns + 100);
	pace_note_gone(&p, p.own_ns + 1e8);
	assert_float_equal(pace_more(&p, p.own_ns + 1e9), 300, 1e-6);
	pace_note(&p, p.all, p.own_ns); /* it could not be read for another reason */
	assert_float_equal(pace_more(&p, p.own_ns + 1000), 3000, 1e-6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_counts_on_as_before),           cmocka_unit_test(what_is_longer_ago_counts_less),
		cmocka_unit_test(a_burst_is_soon_forgotten),        cmocka_unit_test(the_first_reading_gives_no_rate),
		cmocka_unit_test(little_time_gives_no_absurd_rate), cmocka_unit_test(time_to_free_its_memory_is_none_to_allocate),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
