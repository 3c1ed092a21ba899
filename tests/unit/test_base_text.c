/* SPDX-License-Identifier: Apache-2.0 */
/* base: cleaning of text, for every character and for invalid bytes. */
#include <iconv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"

static size_t encode(uint32_t c, char *to)
{
	if (c < 0x80)
		return (size_t)snprintf(to, 5, "%c", (int)c);
	if (c < 0x800)
		return (size_t)snprintf(to, 5, "%c%c", (int)(0xc0 | c >> 6), (int)(0x80 | (c & 63)));
	if (c < 0x10000)
		return (size_t)snprintf(to, 5, "%c%c%c", (int)(0xe0 | c >> 12), (int)(0x80 | (c >> 6 & 63)),
					(int)(0x80 | (c & 63)));
	return (size_t)snprintf(to, 5, "%c%c%c%c", (int)(0xf0 | c >> 18), (int)(0x80 | (c >> 12 & 63)),
				(int)(0x80 | (c >> 6 & 63)), (int)(0x80 | (c & 63)));
}

/* Ranges, first and last: controls, surrogates, Unicode's Bidi_Control, line separators, the byte order mark. */
static bool is_refused(uint32_t c)
{
	static const uint32_t ranges[][2] = {
		{ 0, 0x1f },        { 0x7f, 0x9f },     { 0x61c, 0x61c },   { 0x200e, 0x200f },
		{ 0x2028, 0x202e }, { 0x2066, 0x2069 }, { 0xd800, 0xdfff }, { 0xfeff, 0xfeff },
	};
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		if (c >= ranges[i][0] && c <= ranges[i][1])
			return true;
	}
	return false;
}

static void test_every_character(void **state)
{
	struct buf out = { 0 };
	(void)state;
	for (uint32_t c = 1; c < 0x110000; c++) {
		char raw[8], want[24] = "";
		size_t n = encode(c, raw);
		for (size_t i = 0; is_refused(c) && i < n; i++)
			snprintf(want + 4 * i, 5, "\\x%02x", (uint8_t)raw[i]);
		buf_reset(&out);
		text_clean(&out, raw, n);
		if (strcmp(buf_str(&out), is_refused(c) ? want : raw))
			fail_msg("U+%04X is written as \"%s\"", c, buf_str(&out));
	}
	buf_free(&out);
}

static bool is_utf8(const struct buf *b)
{
	char *in = (char *)b->data, to[1024], *at = to;
	size_t left = b->len, room = sizeof(to);
	iconv_t cd = iconv_open("UCS-4LE", "UTF-8");
	assert_true(cd != (iconv_t)-1);
	bool whole = iconv(cd, &in, &left, &at, &room) != (size_t)-1 && !left;
	iconv_close(cd);
	return whole;
}

/* The result is valid text for any input, and cleaning it again changes nothing. */
static void test_any_bytes(void **state)
{
	static const char likely[] = "a\\\x1b\x80\xbf\xc0\xc2\xe0\xe2\xed\xf0\xf4\xf5\xff\xa0\xae\x8f";
	struct buf out = { 0 }, again = { 0 };
	(void)state;
	srand(7);
	for (size_t round = 0; round < 20000; round++) {
		char raw[12] = "";
		for (size_t i = 0; i < sizeof(raw) - 1; i++)
			raw[i] = rand() % 4 ? likely[(size_t)rand() % (sizeof(likely) - 1)] : (char)(1 + rand() % 255);
		buf_reset(&out);
		buf_reset(&again);
		text_clean(&out, raw, sizeof(raw));
		assert_true(is_utf8(&out));
		text_clean(&again, buf_str(&out), SIZE_MAX);
		assert_string_equal(buf_str(&again), buf_str(&out));
	}
	buf_free(&out);
	buf_free(&again);
}

static void test_ends(void **state)
{
	struct buf out = { 0 };
	(void)state;
	text_clean(&out, "\xe2\x82\xac", 2); /* cut within a character */
	assert_string_equal(buf_str(&out), "\\xe2\\x82");
	buf_reset(&out);
	text_clean(&out, "ab\0cd", 5);
	text_clean(&out, "", SIZE_MAX);
	assert_string_equal(buf_str(&out), "ab");
	buf_reset(&out);
	text_json(&out, "\"\\\n\xe2\x80\x8f");
	assert_string_equal(buf_str(&out), "\"\\\"\\\\\\\\x0a\\\\xe2\\\\x80\\\\x8f\"");
	buf_free(&out);
}

/* The examples of RFC 4648. */
static void test_base64(void **state)
{
	static const char *const of[][2] = {
		{ "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" }, { "foo", "Zm9v" }, { "foobar", "Zm9vYmFy" }
	};
	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct buf out = { 0 };
		text_base64(&out, of[i][0], strlen(of[i][0]));
		assert_string_equal(buf_str(&out), of[i][1]);
		buf_free(&out);
	}
}

static void test_percentages(void **state)
{
	static const struct {
		double share;
		const char *text;
	} cases[] = { { 0, "0 %" },        { 1e-9, "0 %" },        { 0.000012, "0.0012 %" },
		      { 0.0123, "1.2 %" }, { 0.0996, "10 %" },     { 0.123, "12 %" },
		      { 1.234, "123 %" },  { 26000, "2600000 %" }, { 1e300, "100000000000000000000 %" } };
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[TEXT_PERCENT];
		assert_string_equal(text_percent(text, cases[i].share), cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_character), cmocka_unit_test(test_any_bytes),   cmocka_unit_test(test_ends),
		cmocka_unit_test(test_base64),          cmocka_unit_test(test_percentages),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
