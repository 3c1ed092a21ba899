/* SPDX-License-Identifier: Apache-2.0 */
/* window/rate: fewer samples while the reader is behind, and the old rate when it has caught up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "window/rate.h"

#define RING 1024u
#define SECOND 1000000000ull

static struct rate made(uint64_t interval)
{
	return (struct rate){ .interval = interval, .ring_sz = RING };
}

/* As the recording does. */
static uint64_t look(struct rate *r, uint64_t wanted, uint64_t backlog, uint64_t now)
{
	return r->interval = rate_look(r, wanted, backlog, now);
}

static void test_slower_and_faster(void **state)
{
	struct rate r = made(100);
	(void)state;
	assert_int_equal(look(&r, 100, RING / 2 - 1, 10 * SECOND), 100);
	assert_int_equal(look(&r, 100, RING / 2, 11 * SECOND), 200);
	assert_int_equal(look(&r, 100, RING, 11 * SECOND + SECOND / 20), 200); /* time to catch up */
	assert_int_equal(look(&r, 100, RING, 11 * SECOND + SECOND / 5), 400);
	assert_int_equal(look(&r, 100, 0, 12 * SECOND), 400);         /* calm, but not long yet */
	assert_int_equal(look(&r, 100, RING / 16, 20 * SECOND), 400); /* not calm */
	assert_int_equal(look(&r, 100, 0, 20 * SECOND), 200);
	assert_int_equal(look(&r, 100, 0, 24 * SECOND), 100);
	assert_int_equal(look(&r, 100, 0, 60 * SECOND), 100); /* never more than asked for */
	assert_int_equal(r.changes, 4);
}

static void test_bounds(void **state)
{
	struct rate exact = made(0), r = made(1);
	(void)state;
	assert_int_equal(look(&exact, 0, RING, SECOND), 0);
	for (uint64_t i = 1; i < 30; i++)
		look(&r, 1, RING, i * SECOND);
	assert_int_equal(r.interval, 1024);
	assert_int_equal(r.changes, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slower_and_faster),
		cmocka_unit_test(test_bounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
