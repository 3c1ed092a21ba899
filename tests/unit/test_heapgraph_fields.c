/* SPDX-License-Identifier: Apache-2.0 */
/* heapgraph/fields: the structures of this program, as the DWARF of two compilers describes them. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "heapgraph/fields.h"

struct sample_of_fields {
	int id;
	struct { /* nested: its members are not ours */
		long inner;
	} nested;
	char text[24];
	struct sample_of_fields *next;
};

static struct sample_of_fields sample;

static void test_own(void **state)
{
	(void)state;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct err err = { 0 };
	struct elf *e = elf_open(fd, "self", &err);
	struct fields f = { 0 };
	uint64_t within = 1;
	assert_non_null(e);
	assert_int_equal(fields_read(&f, e), 0);
	const struct field_class *c = fields_class(&f, "sample_of_fields");
	assert_non_null(c);
	assert_int_equal(c->size, sizeof(sample));
	assert_int_equal(c->cnt, 4);
	assert_string_equal(fields_at(&f, c, offsetof(struct sample_of_fields, next), &within)->name, "next");
	assert_int_equal(within, 0);
	assert_string_equal(fields_at(&f, c, offsetof(struct sample_of_fields, text) + 9, &within)->name, "text");
	assert_int_equal(within, 9);
	assert_null(fields_at(&f, c, sizeof(sample), &within));
	assert_null(fields_class(&f, "no_such_class"));
	fields_free(&f);
	elf_close(e);
	close(fd);
}

static void test_add(void **state)
{
	(void)state;
	struct fields f = { 0 };
	struct field_class one = { .name = "Foo", .size = 16 }, empty = { 0 };
	assert_int_equal(fields_add(&f, &empty), 0);
	assert_int_equal(f.classes_cnt, 0);
	assert_int_equal(fields_add(&f, &one), 0);
	one.size = 24;
	assert_int_equal(fields_add(&f, &one), 0); /* the same as the first */
	assert_int_equal(fields_class(&f, "Foo")->size, 16);
	fields_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_own), cmocka_unit_test(test_add) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
