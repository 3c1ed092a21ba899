/* SPDX-License-Identifier: Apache-2.0 */
/* Pages that leave, by a page table of our own: which are taken, and how many are asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "resident/resident.h"

#define PAGE 4096ull
#define HEAP (1ull << 32)
#define ABOVE (1ull << 40)
#define PROC ((struct proc_id){ 1 })
#define OTHER ((struct proc_id){ 2 })

/* The heap's end, by which pages are there; events, and pages asked for. */
struct seen {
	uint64_t heap_end;
	size_t gone, left, asked;
};

static void take(void *ctx, const struct event *e)
{
	struct seen *s = ctx;
	if (e->kind == EVENT_FREE)
		s->gone++;
	else
		s->left++;
}

static int ask(void *ctx, const uint64_t *at, size_t n, uint8_t *out)
{
	struct seen *s = ctx;
	s->asked += n;
	for (size_t i = 0; i < n; i++)
		out[i] = at[i] < s->heap_end || at[i] >= ABOVE;
	return 0;
}

static void come(struct resident *r, struct proc_id proc, uint64_t at, size_t pages)
{
	for (size_t i = 0; i < pages; i++) {
		/* In no order. */
		uint64_t page = at + (i * 7919 % pages) * PAGE;
		const struct event e = { .kind = EVENT_ALLOC, .proc = proc, .addr = page, .size = PAGE };
		assert_int_equal(resident_come(r, &e), 0);
	}
}

static void shrink(struct resident *r, struct seen *s, uint64_t end)
{
	const struct resident_range g = { .proc = PROC, .start = end };
	s->heap_end = end;
	assert_int_equal(resident_shrunk(r, &g, ask, s), 0);
}

static void test_all_that_has_gone(void **state)
{
	struct seen s = { 0 };
	struct resident r = { .ctx = &s, .event = take };
	(void)state;
	come(&r, PROC, HEAP, 5000);
	come(&r, OTHER, HEAP, 10);
	come(&r, PROC, ABOVE, 3000);
	shrink(&r, &s, HEAP + 4990 * PAGE);
	assert_int_equal(s.gone, 10);
	shrink(&r, &s, HEAP + 1000 * PAGE);
	assert_int_equal(s.gone, 4000);
	assert_int_equal(r.pages_cnt, 1000 + 10 + 3000);
	assert_int_equal(s.left, 0);
	resident_free(&r);
}

/* A program that trims its heap all the time, with much mapped above it. */
static void test_heap_that_shrinks_often(void **state)
{
	struct seen s = { 0 };
	struct resident r = { .ctx = &s, .event = take };
	(void)state;
	come(&r, PROC, ABOVE, 20000);
	for (int i = 0; i < 50; i++) {
		come(&r, PROC, HEAP, 8);
		shrink(&r, &s, HEAP);
	}
	assert_int_equal(s.gone, 50 * 8);
	assert_int_equal(r.pages_cnt, 20000);
	assert_true(s.asked <= 50 * 64);
	resident_free(&r);
}

/* Many more pages than are recorded: those of others, and what lies elsewhere, stay. */
static void test_large_range(void **state)
{
	struct seen s = { 0 };
	struct resident r = { .ctx = &s, .event = take };
	const struct resident_range g = { .proc = PROC, .start = HEAP + 10 * PAGE, .end = ABOVE };
	(void)state;
	come(&r, PROC, HEAP, 100);
	come(&r, OTHER, HEAP, 100);
	come(&r, PROC, ABOVE, 50);
	assert_int_equal(resident_gone(&r, &g), 0);
	assert_int_equal(s.gone, 90);
	assert_int_equal(r.pages_cnt, 10 + 100 + 50);
	resident_free(&r);
}

/* A huge page across the new end: what lies below stays. */
static void test_part_of_a_page(void **state)
{
	struct seen s = { 0 };
	struct resident r = { .ctx = &s, .event = take };
	const struct event e = { .kind = EVENT_ALLOC, .proc = PROC, .addr = HEAP, .size = 512 * PAGE };
	(void)state;
	assert_int_equal(resident_come(&r, &e), 0);
	shrink(&r, &s, HEAP + 100 * PAGE);
	assert_int_equal(s.gone, 1);
	assert_int_equal(s.left, 1);
	assert_int_equal(r.pages_cnt, 1);
	resident_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_that_has_gone),
		cmocka_unit_test(test_heap_that_shrinks_often),
		cmocka_unit_test(test_part_of_a_page),
		cmocka_unit_test(test_large_range),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
