/* SPDX-License-Identifier: Apache-2.0 */
/* heapgraph/shapes: numbers that begin objects of a class, and numbers that begin other memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "boehm/heap.h"
#include "heapgraph/shapes.h"

/* No object has the types Array and Hash, nor 10, which is in no list, nor any number after 12. */
static const char list[] = "{0 - 0}: Nil\n{1 - 12}: Reference\n{1 - 1}: String\n{2 - 2}: Array(Int32)\n{3 - 3}: Array(Foo)\n"
			   "{2 - 4}: Array\n{5 - 5}: Foo\n{6 - 6}: Bar\n{7 - 7}: Hash(Int32, Int32)\n{7 - 8}: Hash\n"
			   "{9 - 9}: Baz\n{11 - 11}: Last\n{20 - 20}: Int32\n";

static void begin(struct shapes *s, struct types *t, const char *text)
{
	assert_int_equal(types_begin(t), 0);
	if (text)
		assert_int_equal(types_parse(t, text, strlen(text), "list", NULL), 0);
	assert_int_equal(shapes_begin(s, t), 0);
}

static void end(struct shapes *s, struct types *t)
{
	shapes_free(s);
	types_free(t);
}

static void count(struct shapes *s, uint32_t first, uint64_t size, uint8_t kind, int cnt)
{
	assert_int_equal(shapes_count(s, first, size, kind, (uint64_t)cnt), 0);
}

static void test_numbers_of_classes(void **state)
{
	struct types t;
	struct shapes s;
	(void)state;
	begin(&s, &t, list);
	for (uint32_t i = 0; i < 30; i++)
		assert_int_equal(shapes_may_be(&s, i), strchr("\2\3\5\6\7\11\13\14", (int)i) && i);
	end(&s, &t);
	begin(&s, &t, NULL);
	assert_true(shapes_may_be(&s, 300));
	assert_false(shapes_may_be(&s, 0x7f001e40)); /* half an address */
	end(&s, &t);
}

/* A loop's index in closures: each number once, in two sizes of cells. There is also one Foo, of another size. */
static void test_a_loop_counts_through_the_ids(void **state)
{
	struct types t;
	struct shapes s;
	(void)state;
	begin(&s, &t, list);
	for (uint32_t i = 0; i < 300; i++)
		count(&s, i, i % 5 ? 32 : 48, HEAP_NORMAL, 1);
	count(&s, 5, 96, HEAP_NORMAL, 1);
	count(&s, 9, 32, HEAP_NORMAL, 40);
	count(&s, 11, 32, HEAP_ATOMIC, 1);
	assert_int_equal(shapes_settle(&s), 0);
	assert_true(shapes_fit(&s, 5, 96, HEAP_NORMAL));
	assert_true(shapes_fit(&s, 9, 32, HEAP_NORMAL));
	assert_true(shapes_fit(&s, 11, 32, HEAP_ATOMIC));
	for (uint32_t i = 0; i < 300; i++)
		assert_int_equal(shapes_fit(&s, i, i % 5 ? 32 : 48, HEAP_NORMAL), i == 9);
	end(&s, &t);
}

/* Single instances of adjacent classes stay: their neighbours on both sides are numbers of classes, too. */
static void test_lone_ones(void **state)
{
	struct types t;
	struct shapes s;
	(void)state;
	begin(&s, &t, list);
	for (uint32_t i = 2; i < 12; i++)
		count(&s, i, 32, HEAP_NORMAL, i != 4 && i != 8 && i != 10);
	count(&s, 8, 32, HEAP_NORMAL, 3); /* by chance, but on one side only */
	assert_int_equal(shapes_settle(&s), 0);
	for (uint32_t i = 2; i < 12; i++)
		assert_int_equal(shapes_fit(&s, i, 32, HEAP_NORMAL), i != 4 && i != 8 && i != 10);
	end(&s, &t);
}

static void test_a_class_has_one_size(void **state)
{
	struct types t;
	struct shapes s;
	(void)state;
	begin(&s, &t, list);
	count(&s, 5, 64, HEAP_NORMAL, 2);
	count(&s, 5, 160, HEAP_NORMAL, 1);
	count(&s, 5, 64, HEAP_ATOMIC, 1);
	count(&s, 6, BOEHM_BLOCK, HEAP_NORMAL, 1);
	assert_int_equal(shapes_settle(&s), 0);
	assert_true(shapes_fit(&s, 5, 64, HEAP_NORMAL));
	assert_false(shapes_fit(&s, 5, 160, HEAP_NORMAL));
	assert_false(shapes_fit(&s, 5, 64, HEAP_ATOMIC));
	assert_false(shapes_fit(&s, 6, BOEHM_BLOCK, HEAP_NORMAL));
	end(&s, &t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_of_classes),
		cmocka_unit_test(test_a_loop_counts_through_the_ids),
		cmocka_unit_test(test_lone_ones),
		cmocka_unit_test(test_a_class_has_one_size),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
