/* SPDX-License-Identifier: Apache-2.0 */
/* probe/stayers: which probes of a link come and go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alys.h"
#include "probe/stayers.h"

#define CNT 5

static struct reattach *link_of_five(void)
{
	struct reattach *r = calloc(1, sizeof(*r) + 2 * CNT * sizeof(uint64_t));
	assert_non_null(r);
	r->all = CNT;
	for (uint64_t i = 0; i < CNT; i++) {
		r->words[i] = 100 + i;
		r->words[CNT + i] = (10 + i) | ALYS_COOKIE_FILTERED;
	}
	return r;
}

/* Each site keeps its cookie, and those that were hit are the first. */
static void assert_ordered(const struct reattach *r, uint32_t hit, const uint8_t *met)
{
	bool seen[CNT] = { false };
	for (uint32_t i = 0; i < CNT; i++) {
		uint64_t site = r->words[i] - 100;
		assert_true(site < CNT && !seen[site]);
		assert_int_equal(r->words[CNT + i], (10 + site) | ALYS_COOKIE_FILTERED);
		assert_int_equal(met[10 + site], i < hit);
		seen[site] = true;
	}
}

static void those_that_were_hit_are_first(void **state)
{
	static const uint8_t marks[][CNT] = { { 0 }, { 1, 1, 1, 1, 1 }, { 0, 0, 0, 0, 1 }, { 0, 1, 0, 1, 1 }, { 1, 0, 1, 0, 0 } };
	static uint8_t met[ALYS_MAX_SITES];
	(void)state;
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		struct reattach *r = link_of_five();
		uint32_t hit = 0;
		memcpy(met + 10, marks[i], CNT);
		for (size_t k = 0; k < CNT; k++)
			hit += marks[i][k];
		assert_int_equal(stayers_order(r, met), hit);
		assert_ordered(r, hit, met);
		free(r);
	}
}

/* One more is hit: the order is made again from what it was. */
static void the_order_is_made_again(void **state)
{
	static uint8_t met[ALYS_MAX_SITES];
	struct reattach *r = link_of_five();
	(void)state;
	for (uint32_t i = 0; i < CNT; i++) {
		met[10 + (3 * i + 2) % CNT] = 1;
		assert_int_equal(stayers_order(r, met), i + 1);
		assert_ordered(r, i + 1, met);
	}
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(those_that_were_hit_are_first),
		cmocka_unit_test(the_order_is_made_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
