/* SPDX-License-Identifier: Apache-2.0 */
/* recorder/stacks: one id for each stack; stacks that are refused, or forgotten and seen again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/stacks.h"
#include "target/target.h"

static const struct stack_of somebody = { .proc = { 1 }, .epoch = 1 };
static const struct frame frames[] = { { .rel = 0x1000 }, { .rel = 0x2000 } };

static int set_up(void **state)
{
	static struct handles h;
	static struct stacks s;
	h = (struct handles){ .catalog = catalog_new() };
	s = (struct stacks){ .h = &h };
	*state = &s;
	return h.catalog ? 0 : -1;
}

static int tear_down(void **state)
{
	struct stacks *s = *state;
	catalog_free(s->h->catalog);
	stacks_free(s);
	return 0;
}

static void arrive(struct stacks *s, uint64_t hash)
{
	if (stacks_want(s, &somebody, hash))
		stacks_put(s, &somebody, hash, &(struct stack){ .end = STACK_END_COMPLETE, .n = 2, .frames = frames });
}

static void test_once(void **state)
{
	struct stacks *s = *state;
	assert_int_equal(stacks_find(s, &somebody, 77).n, 0);
	arrive(s, 77);
	arrive(s, 78);
	arrive(s, 77);
	assert_int_equal(s->count, 2);
	assert_int_equal(stacks_find(s, &somebody, 77).n, 1);
	assert_int_equal(catalog_stack(s->h->catalog, (struct stack_id){ 2 })->n, 2);
	assert_int_equal(s->ends[STACK_END_COMPLETE], 2);
	assert_false(s->failed);
}

static void test_refused(void **state)
{
	struct stacks *s = *state;
	arrive(s, 77);
	s->refusing = true;
	arrive(s, 77); /* known: it costs nothing */
	arrive(s, 78);
	assert_int_equal(s->count, 1);
	assert_int_equal(s->refused, 1);
}

static void test_forgotten(void **state)
{
	struct stacks *s = *state;
	struct map left = { 0 };
	arrive(s, 77);
	arrive(s, 78);
	stacks_recall(s);
	arrive(s, 78);
	assert_false(stacks_is_recalled(s, (struct stack_id){ 1 }));
	assert_true(stacks_is_recalled(s, (struct stack_id){ 2 }));
	/* The catalog that is kept has the second one only. */
	struct catalog *kept = catalog_new();
	assert_int_equal(catalog_put_stack(kept, &(struct stack){ .id = { 2 }, .proc = { 1 }, .n = 2, .frames = frames }), 0);
	assert_true(stacks_kept(s, kept, &left));
	stacks_replace(s, &left);
	assert_int_equal(stacks_left(s), 1);
	assert_int_equal(stacks_find(s, &somebody, 77).n, 0);
	assert_int_equal(stacks_find(s, &somebody, 78).n, 2);
	arrive(s, 77); /* ids are not reused */
	assert_int_equal(stacks_find(s, &somebody, 77).n, 3);
	catalog_free(kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_forgotten, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
