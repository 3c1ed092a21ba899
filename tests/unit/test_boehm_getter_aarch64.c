/* SPDX-License-Identifier: Apache-2.0 */
/* boehm/getter: the variables of functions as compilers write them on aarch64, and of none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "boehm/getter.h"

#define AT 0x401ff8ull
#define PAGE 0x401000ull
#define RET 0xd65f03c0
#define EXPECT(addr, from_table, ...) expect((const uint32_t[GETTER_SZ / 4]){ __VA_ARGS__ }, addr, from_table)

static void expect(const uint32_t words[], uint64_t addr, bool from_table)
{
	uint8_t code[GETTER_SZ];
	memcpy(code, words, sizeof(code));
	struct getter g = getter_in(code, AT);
	assert_int_equal(g.addr, addr);
	assert_int_equal(g.from_table, from_table);
}

static void test_found(void **state)
{
	(void)state;
	/* adrp x0, PAGE + 63 pages; ldr w0, [x0, 3200] */
	EXPECT(PAGE + (63 << 12) + 3200, false, 0xf00001e0, 0xb94c8000, RET);
	/* bti c; adrp x0, PAGE of the next instruction; ldr x0, [x0, 8] */
	EXPECT(PAGE + 8, false, 0xd503245f, 0x90000000, 0xf9400400, RET);
	/* adrp x0, PAGE - 1 page; ldr w0, [x0] */
	EXPECT(PAGE - 0x1000, false, 0xf0ffffe0, 0xb9400000, RET);
	/* adrp x0, PAGE + 41 pages; ldr x0, [x0, 3960]; ldr x0 or w0, [x0] */
	EXPECT(PAGE + (41 << 12) + 3960, true, 0xb0000140, 0xf947bc00, 0xf9400000, RET);
	EXPECT(PAGE + (41 << 12) + 3960, true, 0xb0000140, 0xf947bc00, 0xb9400000, RET);
}

static void test_none(void **state)
{
	(void)state;
	EXPECT(0, false, RET);
	/* adrp x1; into x1; with an offset in the second load; from an address of 32 bits; no ret */
	EXPECT(0, false, 0xb0000141, 0xb94c8000, RET);
	EXPECT(0, false, 0xb0000140, 0xb94c8001, RET);
	EXPECT(0, false, 0xb0000140, 0xf947bc00, 0xf9400400, RET);
	EXPECT(0, false, 0xb0000140, 0xb94c8000, 0xf9400000, RET);
	EXPECT(0, false, 0xb0000140, 0xb94c8000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
