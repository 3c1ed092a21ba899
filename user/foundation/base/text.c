/* SPDX-License-Identifier: Apache-2.0 */
/* base/text: see text.h. */
#include "base/text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Length of the valid UTF-8 sequence at s (Unicode 15, table 3-7), 0: invalid. */
static size_t utf8_len(const uint8_t *s, size_t left, uint32_t *code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	if (n == 1) {
		*code = s[0];
		return 1;
	}
	if (s[0] < 0xc2 || s[0] > 0xf4 || left < n)
		return 0;
	uint32_t v = s[0] & (0xffu >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		v = (v << 6) | (s[i] & 0x3f);
	}
	if (v < least[n] || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff))
		return 0;
	*code = v;
	return n;
}

/* Control characters, including all Bidi_Control ones, which can reorder the text around them. */
static bool is_unsafe(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) ||
	       c == 0x61c || c == 0x200e || c == 0x200f || c == 0xfeff;
}

void text_clean(struct buf *out, const char *s, size_t max)
{
	const uint8_t *at = (const uint8_t *)s;
	size_t left = strnlen(s, max);
	while (left) {
		uint32_t code = 0;
		size_t n = utf8_len(at, left, &code);
		if (n && !is_unsafe(code)) {
			buf_add(out, at, n);
		} else {
			n = n ? n : 1;
			for (size_t i = 0; i < n; i++)
				buf_addf(out, "\\x%02x", at[i]);
		}
		at += n;
		left -= n;
	}
}

void text_json(struct buf *out, const char *s)
{
	struct buf clean = { 0 };
	text_clean(&clean, s, SIZE_MAX);
	buf_u8(out, '"');
	for (size_t i = 0; i < clean.len; i++) {
		if (clean.data[i] == '"' || clean.data[i] == '\\')
			buf_u8(out, '\\');
		buf_u8(out, clean.data[i]);
	}
	buf_u8(out, '"');
	out->failed |= clean.failed;
	buf_free(&clean);
}

void text_bytes(struct buf *out, double bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	size_t u = 0;
	while ((bytes >= 1024 || bytes <= -1024) && u + 1 < sizeof(units) / sizeof(units[0])) {
		bytes /= 1024;
		u++;
	}
	buf_addf(out, u ? "%.1f %s" : "%.0f %s", bytes, units[u]);
}

const char *text_percent(char out[TEXT_PERCENT], double share)
{
	double percent = share < 1e18 ? 100 * share : 1e20;
	snprintf(out, TEXT_PERCENT, percent < 9.95 && percent >= 1e-4 ? "%.2g %%" : "%.0f %%", percent);
	return out;
}

void text_count(struct buf *out, uint64_t n)
{
	char digits[32];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n);
	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			buf_u8(out, ',');
		buf_u8(out, (uint8_t)digits[i]);
	}
}

void text_moment(struct buf *out, uint64_t mono_ns)
{
	char stamp[32];
	struct timespec real, mono;
	struct tm tm;
	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_MONOTONIC, &mono);
	int64_t ago_ns = mono.tv_sec * 1000000000ll + mono.tv_nsec - (int64_t)mono_ns;
	time_t then = (time_t)((real.tv_sec * 1000000000ll + real.tv_nsec - ago_ns) / 1000000000);
	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&then, &tm));
	buf_adds(out, stamp);
}

void text_base64(struct buf *out, const void *bytes, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *in = bytes;
	uint8_t *to = buf_room(out, (n + 2) / 3 * 4);
	if (!to)
		return;
	for (size_t i = 0; i < n; i += 3) {
		size_t left = n - i;
		uint32_t v = (uint32_t)in[i] << 16 | (left > 1 ? (uint32_t)in[i + 1] << 8 : 0) | (left > 2 ? in[i + 2] : 0);
		*to++ = (uint8_t)digits[v >> 18];
		*to++ = (uint8_t)digits[v >> 12 & 63];
		*to++ = left > 1 ? (uint8_t)digits[v >> 6 & 63] : '=';
		*to++ = left > 2 ? (uint8_t)digits[v & 63] : '=';
	}
	out->len += (n + 2) / 3 * 4;
}
