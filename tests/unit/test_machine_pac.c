/* SPDX-License-Identifier: Apache-2.0 */
/* machine/pac: the mask against this program's own addresses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "machine/pac.h"

/* No bit that an address of code or data has, and a bit for every signature there can be. */
static void test_mask(void **state)
{
	(void)state;
	uint64_t mask = pac_mask();
	assert_int_equal(mask & (uint64_t)(uintptr_t)&test_mask, 0);
	assert_int_equal(mask & (uint64_t)(uintptr_t)&mask, 0);
	assert_int_equal(mask & 1ull << 55, 0);
	/* Signed or not: this function's own return address is one of code. */
	uint64_t back = (uint64_t)(uintptr_t)__builtin_return_address(0) & ~mask;
	assert_true(back < 1ull << 52);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mask),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
