/* SPDX-License-Identifier: Apache-2.0 */
/* notes: arguments of probes in every form that assemblers of x86-64 write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "notes/notes.h"
#include "sites/listing.h"

static void test_places(void **state)
{
	static const struct {
		const char *text;
		struct alys_note_arg arg;
	} cases[] = {
		{ "8@%rdi", { .form = ALYS_NOTE_REGISTER, .reg = ALYS_REG_RDI, .size = 8 } },
		{ "-4@%eax", { .form = ALYS_NOTE_REGISTER, .reg = ALYS_REG_RAX, .size = 4, .is_signed = 1 } },
		{ "1@%r9b", { .form = ALYS_NOTE_REGISTER, .reg = ALYS_REG_R8 + 1, .size = 1 } },
		{ "2@%sp", { .form = ALYS_NOTE_REGISTER, .reg = ALYS_REG_SP, .size = 2 } },
		{ "-4@-20(%rbp)", { .form = ALYS_NOTE_MEMORY, .value = -20, .reg = ALYS_REG_RBP, .size = 4, .is_signed = 1 } },
		{ "8@(%r15)", { .form = ALYS_NOTE_MEMORY, .reg = ALYS_REG_R8 + 7, .size = 8 } },
		{ "8@0x10(%rsp)", { .form = ALYS_NOTE_MEMORY, .value = 16, .reg = ALYS_REG_SP, .size = 8 } },
		{ "-4@$-1", { .form = ALYS_NOTE_CONSTANT, .value = -1, .size = 4, .is_signed = 1 } },
		{ "8@$18446744073709551615", { .form = ALYS_NOTE_CONSTANT, .value = -1, .size = 8 } },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct alys_note_arg a;
		assert_int_equal(note_args(cases[i].text, &a, 1), 1);
		assert_memory_equal(&a, &cases[i].arg, sizeof(a));
		assert_true(note_arg_ok(&a));
	}
}

static void test_refused_places(void **state)
{
	static const struct {
		const char *text;
		int rc;
	} cases[] = {
		{ "8@block(%rip)", -ENOTSUP },
		{ "8@block+4(%rip)", -ENOTSUP },
		{ "8@(%rax,%rbx,8)", -ENOTSUP },
		{ "8@%xmm0", -ENOTSUP },
		{ "8@16", -ENOTSUP },
		{ "16@%rax", -ENOTSUP },
		{ "8f@%xmm1", -EINVAL },
		{ "%rdi", -EINVAL },
		{ "8@", -ENOTSUP },
		{ "8@$", -ENOTSUP },
		{ "8@$x", -ENOTSUP },
		{ "8@%", -ENOTSUP },
		{ "8@%rdix", -ENOTSUP },
		{ "8@(%eax)", -ENOTSUP },
		{ "8@%gs:0x28", -ENOTSUP },
		{ "8@4(%rax", -ENOTSUP },
		{ "8@4(%rax)x", -EINVAL },
		{ "@%rax", -EINVAL },
		{ "8@$1x", -EINVAL },
		{ "99999999999999999999@%rax", -EINVAL },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct alys_note_arg a;
		if (note_args(cases[i].text, &a, 1) != cases[i].rc)
			fail_msg("%s: %d", cases[i].text, note_args(cases[i].text, &a, 1));
	}
}

static void test_lists(void **state)
{
	struct alys_note_arg a[ALYS_NOTE_ARGS];
	(void)state;
	assert_int_equal(note_args("", a, ALYS_NOTE_ARGS), 0);
	assert_int_equal(note_args("   8@%rdi   8@%rsi ", a, ALYS_NOTE_ARGS), 2);
	assert_int_equal(a[1].reg, ALYS_REG_RSI);
	assert_int_equal(a[2].form, ALYS_NOTE_NONE);
	assert_true(note_arg_ok(&a[2]));
	/* What comes behind those that are wanted may be anything. */
	assert_int_equal(note_args("8@%rdi 8@%xmm0 8@$1 16@%ymm1", a, 1), 4);
	assert_int_equal(note_args("8@%rdi 8@%xmm0", a, 2), -ENOTSUP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_refused_places),
		cmocka_unit_test(test_lists),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
