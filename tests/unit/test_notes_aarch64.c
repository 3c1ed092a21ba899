/* SPDX-License-Identifier: Apache-2.0 */
/* notes: arguments of probes in every form that assemblers of aarch64 write. */
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
		{ "8@x0", { .form = ALYS_NOTE_REGISTER, .size = 8 } },
		{ "-4@x10", { .form = ALYS_NOTE_REGISTER, .reg = 10, .size = 4, .is_signed = 1 } },
		{ "4@w15", { .form = ALYS_NOTE_REGISTER, .reg = 15, .size = 4 } },
		{ "1@w30", { .form = ALYS_NOTE_REGISTER, .reg = 30, .size = 1 } },
		{ "8@fp", { .form = ALYS_NOTE_REGISTER, .reg = 29, .size = 8 } },
		{ "8@lr", { .form = ALYS_NOTE_REGISTER, .reg = 30, .size = 8 } },
		{ "8@sp", { .form = ALYS_NOTE_REGISTER, .reg = ALYS_REG_SP, .size = 8 } },
		{ "4@wsp", { .form = ALYS_NOTE_REGISTER, .reg = ALYS_REG_SP, .size = 4 } },
		{ "8@xzr", { .form = ALYS_NOTE_CONSTANT, .size = 8 } },
		{ "-4@wzr", { .form = ALYS_NOTE_CONSTANT, .size = 4, .is_signed = 1 } },
		{ "8@[sp, 16]", { .form = ALYS_NOTE_MEMORY, .value = 16, .reg = ALYS_REG_SP, .size = 8 } },
		{ "-4@[x29, -8]", { .form = ALYS_NOTE_MEMORY, .value = -8, .reg = 29, .size = 4, .is_signed = 1 } },
		{ "8@[x16]", { .form = ALYS_NOTE_MEMORY, .reg = 16, .size = 8 } },
		{ "8@[x1,#0x10]", { .form = ALYS_NOTE_MEMORY, .value = 16, .reg = 1, .size = 8 } },
		{ "8@5", { .form = ALYS_NOTE_CONSTANT, .value = 5, .size = 8 } },
		{ "-4@-1", { .form = ALYS_NOTE_CONSTANT, .value = -1, .size = 4, .is_signed = 1 } },
		{ "8@#5", { .form = ALYS_NOTE_CONSTANT, .value = 5, .size = 8 } },
		{ "8@18446744073709551615", { .form = ALYS_NOTE_CONSTANT, .value = -1, .size = 8 } },
	};
	(void)state;
	check_places(cases, sizeof(cases) / sizeof(*cases));
}

static void test_refused_places(void **state)
{
	static const struct refusal cases[] = {
		{ "8@[x0, #:lo12:block]", -ENOTSUP },
		{ "8@[x0, x1]", -ENOTSUP },
		{ "8@[x0, x1, lsl 3]", -ENOTSUP },
		{ "8@[x0, w1, sxtw 3]", -ENOTSUP },
		{ "8@[x0, 8, x1]", -ENOTSUP },
		{ "8@[w0]", -ENOTSUP },
		{ "8@[wsp, 8]", -ENOTSUP },
		{ "8@[xzr]", -ENOTSUP },
		{ "8@[]", -ENOTSUP },
		{ "8@[sp, 16", -ENOTSUP },
		{ "8@[sp, ]", -ENOTSUP },
		{ "8@[sp,", -ENOTSUP },
		{ "8@[", -ENOTSUP },
		{ "8@[sp, 99999999999999999999]", -ENOTSUP },
		{ "8@[sp, 16]!", -EINVAL },
		{ "8@[sp], 16", -EINVAL },
		{ "8@v0", -ENOTSUP },
		{ "8@d0", -ENOTSUP },
		{ "8@x31", -ENOTSUP },
		{ "8@x00", -ENOTSUP },
		{ "8@x01", -ENOTSUP },
		{ "8@x", -ENOTSUP },
		{ "8@x1a", -ENOTSUP },
		{ "8@x999", -ENOTSUP },
		{ "8@block", -ENOTSUP },
		{ "8@%rdi", -ENOTSUP },
		{ "16@x0", -ENOTSUP },
		{ "8@", -ENOTSUP },
		{ "8@#", -ENOTSUP },
		{ "8@-", -ENOTSUP },
		{ "8@x0:", -EINVAL },
		{ "8@1x", -EINVAL },
		{ "8f@v1", -EINVAL },
		{ "x0", -EINVAL },
		{ "@x0", -EINVAL },
		{ "99999999999999999999@x0", -EINVAL },
	};
	(void)state;
	check_refusals(cases, sizeof(cases) / sizeof(*cases));
}

/* Blanks separate arguments, except in brackets. */
static void test_lists(void **state)
{
	(void)state;
	check_lists("  8@[sp, 16]   8@x1 ", 1, "8@x0 8@[x0, x1, lsl 3] 8@1 16@v1", "8@x0 8@[x0, x1, lsl 3]");
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
