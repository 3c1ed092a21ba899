/* SPDX-License-Identifier: Apache-2.0 */
/* push/escape: see escape.h. */
#include "push/escape.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

size_t escape_none(const char *at, char out[ESCAPED_MAX])
{
	out[0] = *at;
	out[1] = 0;
	return 1;
}

/* -1: there is no such number. */
static int hex(const char *at, int digits)
{
	int value = 0;
	for (int i = 0; i < digits; i++) {
		if (!isxdigit((unsigned char)at[i]))
			return -1;
		value = value << 4 | (isdigit((unsigned char)at[i]) ? at[i] - '0' : (at[i] | 0x20) - 'a' + 10);
	}
	return value;
}

static void put_utf8(int code, char out[ESCAPED_MAX])
{
	int n = 0;
	if (code < 0x80) {
		out[n++] = (char)code;
	} else if (code < 0x800) {
		out[n++] = (char)(0xc0 | code >> 6);
		out[n++] = (char)(0x80 | (code & 0x3f));
	} else {
		out[n++] = (char)(0xe0 | code >> 12);
		out[n++] = (char)(0x80 | (code >> 6 & 0x3f));
		out[n++] = (char)(0x80 | (code & 0x3f));
	}
	out[n] = 0;
}

size_t escape_json(const char *at, char out[ESCAPED_MAX])
{
	int code = at[0] == '\\' && at[1] == 'u' ? hex(at + 2, 4) : -1;
	if (at[0] == '\\' && at[1] && strchr("\"\\/", at[1]))
		return 1 + escape_none(at + 1, out);
	if (code <= 0 || (code >= 0xd800 && code < 0xe000))
		return escape_none(at, out);
	put_utf8(code, out);
	return 6;
}

size_t escape_percent(const char *at, char out[ESCAPED_MAX])
{
	int byte = at[0] == '%' ? hex(at + 1, 2) : -1;
	if (byte <= 0)
		return escape_none(at, out);
	out[0] = (char)byte;
	out[1] = 0;
	return 3;
}
