/* SPDX-License-Identifier: Apache-2.0 */
/* boehm/scan: what is read of a program's data while the collector's index is looked for. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "boehm/scan.h"

#define BASE 0x400000ull
#define PAGE 4096

/* Nothing but zeros: there is no index. */
static int64_t read_zeros(void *ctx, uint64_t addr, void *out, size_t n)
{
	uint64_t *lowest = ctx;
	*lowest = addr < *lowest ? addr : *lowest;
	memset(out, 0, n);
	return (int64_t)n;
}

/* Constants before variables, as in a large program: a refusal for each of their pages took seconds. */
static void test_only_what_may_be_written_is_read(void **state)
{
	uint64_t lowest = UINT64_MAX, data = BASE + 3000 * PAGE, end = data + 5 * PAGE;
	const struct memory_source source = { read_zeros, &lowest };
	struct memory m = { .source = &source };
	struct space s = { 0 };
	struct scan_hit hit;
	(void)state;
	const struct space_region constants = { .start = BASE, .end = data, .readable = true, .path = "/p" };
	const struct space_region variables = { .start = data, .end = end, .readable = true, .writable = true, .path = "" };
	assert_int_equal(space_add(&s, &constants), 0);
	assert_int_equal(space_add(&s, &variables), 0);
	assert_int_equal(scan_range(&m, &s, BASE, end, &hit), -ENOENT);
	assert_int_equal(lowest, data);
	assert_int_equal(m.bytes, 5 * PAGE);
	space_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_what_may_be_written_is_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
