/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/cursor: reads untrusted bytes. Every read is checked against the end; the first one that does not fit sets
 * `bad`, and from then on all reads return 0. Check `bad` once.
 */
#ifndef ALYS_BASE_CURSOR_H
#define ALYS_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

/* No bytes may be at NULL, to which C adds no number, not even 0. */
static inline struct cursor cursor_over(const void *data, size_t n)
{
	const uint8_t *at = n ? data : (const void *)"";
	return (struct cursor){ .at = at, .end = at + n };
}

static inline size_t cursor_left(const struct cursor *c)
{
	return c->bad ? 0 : (size_t)(c->end - c->at);
}

uint64_t cursor_varint_slow(struct cursor *c);
/* A cursor over the next n bytes; bad if there are fewer. */
struct cursor cursor_sub(struct cursor *c, size_t n);
/* Length-prefixed text copied into dst (always NUL-terminated, cut to cap - 1). */
void cursor_lenstr(struct cursor *c, char *dst, size_t cap);

/* The next n bytes, borrowed; NULL if there are fewer. */
static inline const void *cursor_bytes(struct cursor *c, size_t n)
{
	if (cursor_left(c) < n) {
		c->bad = true;
		return NULL;
	}
	const void *at = c->at;
	c->at += n;
	return at;
}

/* At most 8 bytes, little endian. */
static inline uint64_t cursor_le(struct cursor *c, unsigned int bytes)
{
	const void *at = cursor_bytes(c, bytes);
	uint64_t v = 0;
	if (at)
		memcpy(&v, at, bytes);
	return v;
}

static inline uint8_t cursor_u8(struct cursor *c)
{
	if (c->bad || c->at == c->end) {
		c->bad = true;
		return 0;
	}
	return *c->at++;
}

/* Inline because a trace consists mostly of one- and two-byte varints. */
static inline uint64_t cursor_varint(struct cursor *c)
{
	if (!c->bad && c->at != c->end && *c->at < 0x80)
		return *c->at++;
	return cursor_varint_slow(c);
}

static inline int64_t cursor_zigzag(struct cursor *c)
{
	uint64_t v = cursor_varint(c);
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

#endif
