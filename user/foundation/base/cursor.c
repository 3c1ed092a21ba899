/* SPDX-License-Identifier: Apache-2.0 */
/* base/cursor: see cursor.h. */
#include "base/cursor.h"

uint64_t cursor_varint_slow(struct cursor *c)
{
	uint64_t v = 0;
	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint8_t byte = cursor_u8(c);
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return c->bad ? 0 : v;
	}
	c->bad = true;
	return 0;
}

struct cursor cursor_sub(struct cursor *c, size_t n)
{
	const void *at = cursor_bytes(c, n);
	if (!at)
		return (struct cursor){ .bad = true };
	return cursor_over(at, n);
}

void cursor_lenstr(struct cursor *c, char *dst, size_t cap)
{
	size_t n = cursor_varint(c);
	const void *at = cursor_bytes(c, n);
	if (!at)
		n = 0;
	if (n >= cap)
		n = cap - 1;
	if (n)
		memcpy(dst, at, n);
	dst[n] = 0;
}
