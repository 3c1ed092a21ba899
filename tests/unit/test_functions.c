/* SPDX-License-Identifier: Apache-2.0 */
/* functions: patterns over names of several languages, and functions of this test's own executable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "functions/functions.h"
#include "functions/patterns.h"
#include "sample_functions.h"

#define PATH "/opt/app/bin/server-1.2"

static bool matches(const char *pattern, const char *symbol)
{
	struct patterns *p = patterns_of(pattern, PATH);
	assert_non_null(p);
	bool yes = patterns_match(p, symbol);
	patterns_free(p);
	return yes;
}

static void test_names(void **state)
{
	static const struct {
		const char *pattern, *symbol;
		bool matches;
	} cases[] = {
		{ "grow", "grow", true },
		{ "grow", "grown", false },
		{ "gr?w*", "grown", true },
		{ "grow", "grow.constprop.0.isra.0", true },
		{ "grow", "grow.lto_priv.3", true },
		{ "grow", "grow.in.turn", false },
		{ "Box::grow", "_ZN3Box4growEm", true },
		{ "Box::grow(unsigned long)", "_ZN3Box4growEm", true },
		{ "_ZN3Box4growEm", "_ZN3Box4growEm", true },
		{ "Box::*", "_ZN3Box4growEm", true },
		{ "Box", "_ZN3Box4growEm", false },
		{ "Box::size", "_ZNK3Box4sizeEv", true },
		{ "copy<int>", "_Z4copyIiESt6vectorIT_SaIS1_EERKS3_", true },
		{ "copy", "_Z4copyIiESt6vectorIT_SaIS1_EERKS3_", false },
		{ "Box::operator[]", "_ZN3BoxixEi", true },
		{ "Box::operator()", "_ZN3BoxclEi", true },
		{ "operator new", "_Znwm", true },
		{ "app::*", "_RNvC3app4main", true },
		{ "Array(Int32)#[]", "*Array(Int32)@Array(T)#[]<Int32>:Int32", true },
		{ "Pile#keep", "*Pile#keep<Int32>:String", true },
		{ "Pile.build", "*Pile::build<Int32>:Array(Int32)", true },
		{ "Pile#*", "*Pile::build<Int32>:Array(Int32)", false },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (matches(cases[i].pattern, cases[i].symbol) != cases[i].matches)
			fail_msg("%s %s", cases[i].pattern, cases[i].symbol);
	}
}

static void test_files(void **state)
{
	(void)state;
	assert_true(matches("server-1.2:grow", "grow"));
	assert_true(matches("server*:Box::grow", "_ZN3Box4growEm"));
	assert_true(matches(PATH ":grow", "grow"));
	assert_false(matches("server:grow", "grow"));
	assert_false(matches("libfoo.so:*", "grow"));
	assert_true(patterns_concern("a:f\nserver*:g", PATH));
	assert_false(patterns_concern("a:f\nb:g", PATH));
	/* Bits are those of the whole text's lines. */
	struct patterns *p = patterns_of("other:grow\nshrink\ngr*\ngrow", PATH);
	assert_int_equal(patterns_match(p, "grow"), 12);
	assert_string_equal(buf_str(&p->shown), "grow");
	patterns_free(p);
}

static void test_parts(void **state)
{
	static const struct {
		const char *symbol;
		bool part;
	} cases[] = {
		{ "grow.cold", true },
		{ "grow.cold.3", true },
		{ "grow.part.0", true },
		{ "grow.part.0.cold", true },
		{ "_ZThn16_N3BoxD0Ev", true },
		{ "grow.constprop.0", false },
		{ "grow.isra.0", false },
		{ "app.coldStart", false },
		{ "_ZN49_$LT$app..cold..Store$u20$as$u20$app..part..Keep$GT$4keep17h0123456789abcdefE", false },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct func fn = { .name = cases[i].symbol };
		if (function_is_part(&fn) != cases[i].part)
			fail_msg("%s", cases[i].symbol);
	}
}

static void test_inlined_names(void **state)
{
	(void)state;
	/* Crystal's DWARF has the method alone. */
	struct patterns *p = patterns_of("Pile#small\nPile#*\nsmaller", PATH);
	assert_int_equal(patterns_match_inlined(p, "small"), 1);
	assert_string_equal(buf_str(&p->shown), "small of any type");
	assert_int_equal(patterns_match_inlined(p, "keep"), 0);
	patterns_free(p);
}

static void test_wrong_patterns(void **state)
{
	static const char *const wrong[] = { "", ":f", "f:", "a\nb" };
	static const char *const right[] = { "f", "*", "a:f", "a::b", "lib.so:a::b", "operator[]" };
	struct err err;
	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(pattern_check(wrong[i], &err), -EINVAL);
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++)
		assert_int_equal(pattern_check(right[i], &err), 0);
}

__attribute__((always_inline)) static inline int sample_inlined(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n;
}

static void find(const char *patterns, uint32_t most, struct function_list *out, struct inlined_list *inlined)
{
	const struct functions_ask ask = { patterns, most };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf *e = elf_open(fd, "self", NULL);
	assert_non_null(e);
	assert_int_equal(functions_find(e, "self", &ask, out), 0);
	assert_int_equal(functions_find_inlined(fd, e, "self", &ask, inlined), 0);
	elf_close(e);
	close(fd);
}

static void test_own_functions(void **state)
{
	struct function_list found;
	struct inlined_list inlined;
	(void)state;
	assert_int_equal(sample_inlined(3) + sample_inlined(4), 7);
	find("sample_*\nnothing", 64, &found, &inlined);
	assert_int_equal(found.matched, 2);
	assert_int_equal(found.used, 1);
	assert_false(found.stripped);
	assert_true(found.has_debug);
	assert_int_equal(found.unplaceable, 1);
	assert_string_equal(found.first_unplaced, "sample_loop");
	assert_int_equal(found.at_cnt, 1);
	assert_int_equal(strncmp(found.at[0].name, "sample_", 7), 0);
	/* Behind the first instruction, which the kernel does not emulate. */
	assert_true(found.at[0].emulated);
	assert_int_equal(found.at[0].offset % 4096, (found.at[0].vaddr + 4) % 4096);
	assert_int_equal(inlined.at_cnt, 1);
	assert_string_equal(inlined.at[0].name, "sample_inlined");
	assert_int_equal(inlined.at[0].copies, 2);
	functions_free(&found);
	inlined_free(&inlined);
}

static void test_as_bytes(void **state)
{
	struct function_list found, again;
	struct inlined_list inlined, again_inlined;
	struct buf bytes = { 0 };
	(void)state;
	find("test_*\nsample_*", 2, &found, &inlined);
	assert_int_equal(found.at_cnt, 2);
	assert_true(found.matched > 2);
	functions_write(&found, &bytes);
	inlined_write(&inlined, &bytes);
	for (size_t n = 0; n <= bytes.len; n++) {
		struct cursor c = cursor_over(bytes.data, n);
		bool whole = !functions_read(&c, &again);
		whole = whole && !inlined_read(&c, &again_inlined);
		assert_int_equal(whole, n == bytes.len);
		if (n < bytes.len)
			functions_free(&again);
	}
	assert_int_equal(again.matched, found.matched);
	assert_int_equal(again.used, found.used);
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(again.at[i].name, found.at[i].name);
		assert_int_equal(again.at[i].offset, found.at[i].offset);
	}
	assert_string_equal(again_inlined.at[0].name, "sample_inlined");
	functions_free(&found);
	functions_free(&again);
	inlined_free(&inlined);
	inlined_free(&again_inlined);
	buf_free(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),         cmocka_unit_test(test_parts),          cmocka_unit_test(test_files),
		cmocka_unit_test(test_inlined_names), cmocka_unit_test(test_wrong_patterns), cmocka_unit_test(test_own_functions),
		cmocka_unit_test(test_as_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
