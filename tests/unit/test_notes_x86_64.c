/* SPDX-License-Identifier: Apache-2.0 */
/* notes: arguments of probes in every form that assemblers of x86-64 write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "notes_checks.h"

static void test_places(void **state)
{
	static const struct place cases[] = {
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
	check_places(cases, sizeof(cases) / sizeof(*cases));
}

static void test_refused_places(void **state)
{
	static const struct refusal cases[] = {
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
	check_refusals(cases, sizeof(cases) / sizeof(*cases));
}

static void test_lists(void **state)
{
	(void)state;
	check_lists("   8@%rdi   8@%rsi ", ALYS_REG_RSI, "8@%rdi 8@%xmm0 8@$1 16@%ymm1", "8@%rdi 8@%xmm0");
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
