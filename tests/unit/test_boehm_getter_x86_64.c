/* SPDX-License-Identifier: Apache-2.0 */
/* boehm/getter: the variables of functions as compilers write them on x86-64, and of none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "boehm/getter.h"

#define AT 0x401000ull
#define EXPECT(bytes, addr, from_table) expect(bytes, sizeof(bytes) - 1, addr, from_table)

static void expect(const char *bytes, size_t n, uint64_t addr, bool from_table)
{
	uint8_t code[GETTER_SZ] = { 0 };
	memcpy(code, bytes, n);
	struct getter g = getter_in(code, AT);
	assert_int_equal(g.addr, addr);
	assert_int_equal(g.from_table, from_table);
}

static void test_found(void **state)
{
	(void)state;
	EXPECT("\x8b\x05\x00\x10\x00\x00\xc3", AT + 6 + 0x1000, false);
	EXPECT("\x48\x8b\x05\xf0\xff\xff\xff\xc3", AT + 7 - 16, false);
	EXPECT("\xf3\x0f\x1e\xfa\x8b\x05\x00\x10\x00\x00\xc3", AT + 10 + 0x1000, false);
	EXPECT("\x48\x8b\x05\x00\x10\x00\x00\x48\x8b\x00\xc3", AT + 7 + 0x1000, true);
	EXPECT("\x48\x8b\x05\x00\x10\x00\x00\x8b\x00\xc3", AT + 7 + 0x1000, true);
}

static void test_none(void **state)
{
	(void)state;
	EXPECT("", 0, false);
	EXPECT("\x8b\x05\x00\x10\x00\x00\x90\xc3", 0, false);
	/* The address of the second load would have 32 bits. */
	EXPECT("\x8b\x05\x00\x10\x00\x00\x8b\x00\xc3", 0, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
