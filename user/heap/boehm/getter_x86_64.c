/* SPDX-License-Identifier: Apache-2.0 */
/* boehm/getter of x86-64: see getter.h. */
#include "boehm/getter.h"

#include <string.h>

#include "base/cursor.h"

static bool take_bytes(struct cursor *c, const char *bytes, size_t n)
{
	if (cursor_left(c) < n || memcmp(c->at, bytes, n))
		return false;
	c->at += n;
	return true;
}

/* [endbr64] mov VARIABLE(%rip),%eax or %rax; ret. With a second load, the first one reads the table. */
struct getter getter_in(const uint8_t *code, uint64_t at)
{
	const struct getter none = { 0 };
	struct cursor c = cursor_over(code, GETTER_SZ);
	take_bytes(&c, "\xf3\x0f\x1e\xfa", 4);
	bool wide = take_bytes(&c, "\x48", 1);
	if (!take_bytes(&c, "\x8b\x05", 2))
		return none;
	int32_t distance = (int32_t)cursor_le(&c, 4);
	struct getter found = { .addr = at + (uint64_t)(c.at - code) + (uint64_t)(int64_t)distance };
	if (take_bytes(&c, "\xc3", 1))
		return found;
	found.from_table = wide && (take_bytes(&c, "\x48\x8b\x00", 3) || take_bytes(&c, "\x8b\x00", 2));
	return found.from_table && take_bytes(&c, "\xc3", 1) ? found : none;
}
