/* SPDX-License-Identifier: Apache-2.0 */
/* model: what heap-fulls of Erlang processes add to a heap, and how certain their places are. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/model.h"

#define FULL 1000

static void add(struct heap *h, uint32_t stack, uint64_t process, uint64_t size)
{
	const struct event e = {
		.kind = EVENT_ALLOC,
		.flags = EVENT_F_UNFOLLOWED | EVENT_F_HEAPFUL,
		.proc = { 1 },
		.stack = { stack },
		.addr = process,
		.size = size,
		.time_ns = 1,
	};
	assert_int_equal(heap_apply(h, &e, NULL), 0);
}

static double error_of(const struct snapshot *s, uint32_t stack)
{
	for (size_t i = 0; i < s->n; i++) {
		if (s->rows[i].stack.n == stack)
			return sqrt(snapshot_var(s, i, ALLOC_SZ));
	}
	return NAN;
}

/* A process in step with its heap: any number of heap-fulls says no more than a few. */
static void test_in_step(void **state)
{
	struct heap *h = heap_new();
	(void)state;
	for (int i = 0; i < 1000; i++)
		add(h, 1, 0x10, FULL);
	struct snapshot *s = heap_snapshot(h);
	assert_int_equal(s->all.alloc_cnt, 1000);
	assert_int_equal(s->all.live_cnt, 0);
	assert_int_equal(s->facts.heapfuls, 1000);
	assert_int_equal(s->facts.heapful_cases, 4); /* the first three have a shorter past */
	assert_true(error_of(s, 1) > 990 * FULL);
	assert_true(snapshot_var(s, SIZE_MAX, ALLOC_SZ) == 0); /* what there is in all is certain */
	snapshot_free(s);
	heap_free(h);
}

/* Processes that all do the same are one case each time, too. */
static void test_alike_processes(void **state)
{
	struct heap *h = heap_new();
	(void)state;
	for (uint64_t process = 1; process <= 500; process++)
		add(h, 1, process * 16, FULL);
	struct snapshot *s = heap_snapshot(h);
	assert_int_equal(s->facts.heapful_cases, 1);
	assert_true(fabs(error_of(s, 1) - 500.0 * FULL) < 1);
	snapshot_free(s);
	heap_free(h);
}

/* Where stacks come by chance, the error is that of independent samples: within a factor of two, for cases are hashed. */
static void test_independent(void **state)
{
	struct heap *h = heap_new();
	uint32_t seed = 1, of_first = 0;
	(void)state;
	for (int i = 0; i < 10000; i++) {
		seed = seed * 1103515245 + 12345;
		uint32_t stack = (seed >> 16) % 4 ? 1 : 2;
		of_first += stack == 1;
		add(h, stack, 0x10, FULL + (seed >> 20) % 16 * 8);
	}
	struct snapshot *s = heap_snapshot(h);
	double expected = sqrt(of_first) * (FULL + 60);
	assert_true(s->facts.heapful_cases > 9000);
	assert_true(error_of(s, 1) > expected / 2 && error_of(s, 1) < 2 * expected);
	snapshot_free(s);
	heap_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_step),
		cmocka_unit_test(test_alike_processes),
		cmocka_unit_test(test_independent),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
