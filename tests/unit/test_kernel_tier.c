/* SPDX-License-Identifier: Apache-2.0 */
/* kernel/tier: the description of a kernel by its features. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel/tier.h"

static void many_processors_wait_before_sessions(void **state)
{
	const struct kernel_facts old = { .uprobe_multi = true }, new = { .uprobe_multi = true, .uprobe_session = true };
	(void)state;
	assert_false(tier_crowded(&old, 16));
	assert_true(tier_crowded(&old, 17));
	assert_false(tier_crowded(&new, 512));
}

static void the_best_tier_is_taken(void **state)
{
	struct kernel_facts k = { 0 };
	(void)state;
	assert_int_equal(tier_of(&k), PROBE_TIER_PERF);
	k.uprobe_multi = true;
	assert_int_equal(tier_of(&k), PROBE_TIER_MULTI);
	k.uprobe_session = true;
	assert_int_equal(tier_of(&k), PROBE_TIER_SESSION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_processors_wait_before_sessions),
		cmocka_unit_test(the_best_tier_is_taken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
