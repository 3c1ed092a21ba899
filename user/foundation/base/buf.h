/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/buf: a growable byte buffer, also used as a string. Running out of memory is sticky: `failed` is set, later
 * calls do nothing, and the owner checks once at the end. A zeroed struct is an empty buf. buf_free releases the bytes
 * and zeroes the struct.
 */
#ifndef ALYS_BASE_BUF_H
#define ALYS_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t *data;
	size_t len, cap;
	bool failed;
};

/* Makes room for `more` bytes and returns the start of it, or NULL; len does not change. */
uint8_t *buf_room(struct buf *b, size_t more);
void buf_add(struct buf *b, const void *bytes, size_t n);
void buf_adds(struct buf *b, const char *s);
void buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_u8(struct buf *b, uint8_t v);
void buf_le(struct buf *b, uint64_t v, unsigned int bytes); /* little endian, 1..8 bytes */
void buf_varint(struct buf *b, uint64_t v);                 /* LEB128, 7 bits per byte */
void buf_zigzag(struct buf *b, int64_t v);                  /* zigzag-encoded signed varint */
void buf_lenstr(struct buf *b, const char *s);              /* varint length, then bytes; NULL counts as "" */
void buf_reset(struct buf *b);
void buf_free(struct buf *b);
const char *buf_str(struct buf *b); /* NUL-terminated view, borrowed; "" when empty */

#endif
