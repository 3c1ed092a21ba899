/* SPDX-License-Identifier: Apache-2.0 */
/* governor/gauge: what stops took beyond their warm prices, by how long the program ran between them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "governor/gauge.h"

#define STOPS 1000
#define WARM_NS 600
#define COLD_NS 1000

static const struct stop_prices price = { .entry = { .warm_s = WARM_NS * 1e-9, .cold_s = COLD_NS * 1e-9 } };

/* A stop's, in ns. */
static double cold_after(double between_ns)
{
	return gauge_cold(&price, STOPS * between_ns, STOPS * WARM_NS) / STOPS;
}

static void a_loop_of_stops_keeps_the_caches_warm(void **state)
{
	(void)state;
	assert_true(cold_after(20) > 0);
	assert_true(cold_after(20) < 0.01 * WARM_NS);
}

static void a_program_that_runs_long_between_stops_pays_the_cold_price(void **state)
{
	(void)state;
	assert_true(cold_after(1e6) > 0.98 * (COLD_NS - WARM_NS));
	assert_true(cold_after(1e6) < COLD_NS - WARM_NS);
	assert_true(cold_after(5e3) < cold_after(10e3));
}

static void without_stops_or_time_nothing_is_added(void **state)
{
	(void)state;
	assert_true(gauge_cold(&price, 1e6, 0) == 0);
	assert_true(gauge_cold(&price, 0, STOPS * WARM_NS) == 0);
	assert_true(gauge_cold(&price, -1e6, STOPS * WARM_NS) == 0); /* the warm price is too high already */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_of_stops_keeps_the_caches_warm),
		cmocka_unit_test(a_program_that_runs_long_between_stops_pays_the_cold_price),
		cmocka_unit_test(without_stops_or_time_nothing_is_added),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
