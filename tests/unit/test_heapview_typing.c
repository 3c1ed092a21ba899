/* SPDX-License-Identifier: Apache-2.0 */
/* heapview/typing: which first words are types. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "heapview/typing.h"

static const char list[] =
	"{0 - 0}: Nil\n{1 - 6}: Reference\n  {1 - 1}: String\n  {2 - 2}: Foo\n  {3 - 3}: Bar\n{9 - 9}: Int32\n";

static void begin(struct typing *t, struct types *types, struct fields *fields, const char *text)
{
	*types = (struct types){ 0 };
	*fields = (struct fields){ 0 };
	types_begin(types);
	if (text)
		assert_int_equal(types_parse(types, text, strlen(text), "list", NULL), 0);
	fields_add(fields, &(struct field_class){ .name = "Bar", .size = 40 });
	assert_int_equal(typing_begin(t, types, fields), 0);
}

static void end(struct typing *t, struct types *types, struct fields *fields)
{
	typing_end(t);
	types_free(types);
	fields_free(fields);
}

static void test_with_list(void **state)
{
	(void)state;
	struct typing t;
	struct types types;
	struct fields fields;
	begin(&t, &types, &fields, list);
	assert_int_equal(typing_of(&t, 2, 32, HEAP_NORMAL), 2);
	assert_int_equal(typing_of(&t, 4, 32, HEAP_NORMAL), 0); /* no such class */
	assert_int_equal(typing_of(&t, 9, 32, HEAP_NORMAL), 0); /* a value's number */
	assert_int_equal(typing_of(&t, 0, 32, HEAP_NORMAL), 0);
	assert_int_equal(typing_of(&t, TYPE_ID_STRING, 32, HEAP_ATOMIC), TYPE_ID_STRING);
	assert_int_equal(typing_of(&t, TYPE_ID_STRING, 32, HEAP_NORMAL), 0); /* strings hold no pointers */
	assert_int_equal(typing_of(&t, 3, 48, HEAP_NORMAL), 3);
	assert_int_equal(typing_of(&t, 3, 32, HEAP_NORMAL), 0); /* too small for a Bar */
	assert_int_equal(typing_of(&t, 3, 4096, HEAP_NORMAL), 0);
	t.none = true;
	assert_int_equal(typing_of(&t, 2, 32, HEAP_NORMAL), 0);
	end(&t, &types, &fields);
}

static void test_without_list(void **state)
{
	(void)state;
	struct typing t;
	struct types types;
	struct fields fields;
	begin(&t, &types, &fields, NULL);
	assert_int_equal(typing_of(&t, 88, 32, HEAP_NORMAL), 88);
	assert_int_equal(typing_of(&t, 0x7f001e40, 32, HEAP_NORMAL), 0); /* half an address */
	end(&t, &types, &fields);
}

static void test_settle(void **state)
{
	(void)state;
	struct typing t;
	struct types types;
	struct fields fields;
	struct graph_object objects[] = {
		{ .size = 160, .type = 2, .kind = 1 }, { .size = 160, .type = 2, .kind = 1 },
		{ .size = 176, .type = 2, .kind = 1 }, /* rounded differently when it was allocated */
		{ .size = 32, .type = 2, .kind = 1 },  /* raw memory by chance */
		{ .size = 160, .type = 2, .kind = 0 }, { .size = 48, .type = 3, .kind = 1 },
	};
	struct graph g = { .objects = objects, .objects_cnt = 6 };
	begin(&t, &types, &fields, list);
	for (size_t i = 0; i < g.objects_cnt; i++)
		assert_int_equal(typing_of(&t, objects[i].type, objects[i].size, objects[i].kind), objects[i].type);
	assert_int_equal(typing_settle(&t, &g), 0);
	assert_int_equal(objects[0].type, 2);
	assert_int_equal(objects[2].type, 2);
	assert_int_equal(objects[3].type, 0);
	assert_int_equal(objects[4].type, 0);
	assert_int_equal(objects[5].type, 3);
	assert_int_equal(objects[5].asked, 40);
	assert_int_equal(objects[0].asked, 0);
	end(&t, &types, &fields);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_with_list),
		cmocka_unit_test(test_without_list),
		cmocka_unit_test(test_settle),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
