/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/symtab: labels that are functions, and what aarch64's assemblers write beside them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "dwarf/symtab.h"

/* Four bytes each. */
asm(".text\n.balign 4\n"
    "\"$x\": first_label: .fill 4\n"
    "\"$d.7\": .fill 4\n"
    "\"$xyz\": .fill 4\n"
    "last_label: .fill 4\n");

static int find_first(void *ctx, const struct elf_symbol *s)
{
	if (s->defined && !strcmp(s->name, "first_label"))
		*(uint64_t *)ctx = s->vaddr;
	return 0;
}

static void test_labels(void **state)
{
	static const char *const names[] = { "first_label", "first_label", "$xyz", "last_label" };
	struct err err;
	struct symtab t;
	uint64_t first = 0;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf *e = elf_open(fd, "self", &err);
	(void)state;
	assert_non_null(e);
	assert_int_equal(symtab_read(&t, e, NULL, 0), 0);
	elf_each_symbol(e, find_first, &first);
	assert_true(first);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_string_equal(symtab_find(&t, first + 4 * i), names[i]);
		assert_string_equal(symtab_find(&t, first + 4 * i + 3), names[i]);
	}
	symtab_free(&t);
	elf_close(e);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_labels) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
