/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a catalog: a process keeps its program, whose build id is part of its identity. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "naming/subset.h"

#define PROC      \
	{         \
		7 \
	}
#define PROGRAM   \
	{         \
		2 \
	}

static struct catalog *whole(void)
{
	struct catalog *c = catalog_new();
	const struct proc proc = { .id = PROC, .tgid = 70, .comm = "till", .exe = "/usr/bin/till" };
	const struct module files[] = {
		{ .id = { 1 }, .path = "/lib/libc.so.6", .build_id = { 0xab }, .build_id_sz = 1 },
		{ .id = PROGRAM, .path = "/usr/bin/till", .build_id = { 0xcd }, .build_id_sz = 1 },
	};
	assert_int_equal(catalog_put_proc(c, &proc), 0);
	for (uint32_t i = 0; i < 2; i++) {
		const struct mapping map = { .id = { i + 1 }, .proc = PROC, .module = files[i].id, .start = 0x1000 * (i + 1) };
		assert_int_equal(catalog_put_module(c, &files[i]), 0);
		assert_int_equal(catalog_put_mapping(c, &map), 0);
	}
	return c;
}

static const char *build_id(const struct catalog *c, char out[BUILD_ID_TEXT])
{
	return catalog_build_id(c, catalog_proc(c, (struct proc_id)PROC), out);
}

/* A stack of frames in libraries alone does not bring the program's mapping along. */
static void test_a_program_that_no_stack_meets(void **state)
{
	struct subset s = { .from = whole(), .to = catalog_new() };
	const struct frame frame = { .map = { 1 }, .rel = 0x10 };
	const struct stack stack = { .id = { 1 }, .proc = PROC, .n = 1, .frames = &frame };
	char hex[BUILD_ID_TEXT];
	(void)state;
	subset_stack(&s, &stack);
	assert_false(s.failed);
	assert_string_equal(build_id(s.to, hex), "cd");
	assert_null(catalog_mapping(s.to, (struct map_id){ 2 }));
	catalog_free((struct catalog *)(uintptr_t)s.from);
	catalog_free(s.to);
}

/* As a catalog is compacted: processes first, then their mappings; and once more. */
static void test_a_part_of_a_part(void **state)
{
	struct catalog *c = whole();
	char hex[BUILD_ID_TEXT];
	(void)state;
	for (int round = 0; round < 2; round++) {
		struct subset s = { .from = c, .to = catalog_new() };
		subset_proc(&s, (struct proc_id)PROC);
		subset_mapping(&s, catalog_mapping(c, (struct map_id){ 1 }));
		subset_mapping(&s, catalog_mapping(c, (struct map_id){ 2 }));
		assert_false(s.failed);
		catalog_free(c);
		c = s.to;
		assert_string_equal(build_id(c, hex), "cd");
	}
	catalog_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_program_that_no_stack_meets),
		cmocka_unit_test(test_a_part_of_a_part),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
