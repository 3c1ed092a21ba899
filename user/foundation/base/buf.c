/* SPDX-License-Identifier: Apache-2.0 */
/* base/buf: see buf.h. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint8_t *buf_room(struct buf *b, size_t more)
{
	if (b->failed)
		return NULL;
	if (more <= b->cap - b->len)
		return b->data + b->len;
	size_t cap = b->cap ? b->cap * 2 : 256;
	while (cap - b->len < more)
		cap *= 2;
	uint8_t *data = realloc(b->data, cap);
	if (!data) {
		b->failed = true;
		return NULL;
	}
	b->data = data;
	b->cap = cap;
	return b->data + b->len;
}

void buf_add(struct buf *b, const void *bytes, size_t n)
{
	uint8_t *at = n ? buf_room(b, n) : NULL;
	if (at) {
		memcpy(at, bytes, n);
		b->len += n;
	}
}

void buf_adds(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap, again;
	size_t room = b->failed ? 0 : b->cap - b->len;
	va_start(ap, fmt);
	va_copy(again, ap);
	/* Usually there is room, so the text is formatted only once. */
	int n = vsnprintf(room ? (char *)b->data + b->len : NULL, room, fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n >= room && buf_room(b, (size_t)n + 1))
		vsnprintf((char *)b->data + b->len, (size_t)n + 1, fmt, again);
	if (n >= 0 && !b->failed)
		b->len += (size_t)n;
	va_end(again);
}

void buf_u8(struct buf *b, uint8_t v)
{
	uint8_t *at = buf_room(b, 1);
	if (at) {
		*at = v;
		b->len++;
	}
}

void buf_le(struct buf *b, uint64_t v, unsigned int bytes)
{
	uint8_t *at = buf_room(b, bytes);
	if (!at)
		return;
	for (unsigned int i = 0; i < bytes; i++)
		at[i] = (uint8_t)(v >> (8 * i));
	b->len += bytes;
}

void buf_varint(struct buf *b, uint64_t v)
{
	uint8_t *at = buf_room(b, 10);
	if (!at)
		return;
	size_t n = 0;
	while (v >= 0x80) {
		at[n++] = (uint8_t)v | 0x80;
		v >>= 7;
	}
	at[n++] = (uint8_t)v;
	b->len += n;
}

void buf_zigzag(struct buf *b, int64_t v)
{
	buf_varint(b, ((uint64_t)v << 1) ^ (uint64_t)(v >> 63));
}

void buf_lenstr(struct buf *b, const char *s)
{
	size_t n = s ? strlen(s) : 0;
	buf_varint(b, n);
	buf_add(b, s, n);
}

void buf_reset(struct buf *b)
{
	b->len = 0;
}

void buf_free(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ 0 };
}

const char *buf_str(struct buf *b)
{
	uint8_t *at = buf_room(b, 1);
	if (!at)
		return "";
	*at = 0;
	return (const char *)b->data;
}
