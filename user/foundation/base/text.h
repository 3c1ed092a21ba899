/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/text: the one sanitizer. Names come from traced programs, so every text that leaves the
 * program passes here first.
 */
#ifndef ALYS_BASE_TEXT_H
#define ALYS_BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * Appends s (up to max bytes or its NUL) with control characters (C0, DEL, C1), bidi controls
 * (U+061C, U+200E/F, U+202A..202E, U+2066..2069), U+2028/9, U+FEFF and invalid UTF-8 written as \xNN. The
 * result is valid UTF-8.
 */
void text_clean(struct buf *out, const char *s, size_t max);
/* Appends s as a JSON string with quotes; cleaned first, so the only escapes are \" and \\. */
void text_json(struct buf *out, const char *s);
/* RFC 4648, with padding. */
void text_base64(struct buf *out, const void *bytes, size_t n);
/* "1.5 MiB", "17 B". */
void text_bytes(struct buf *out, double bytes);
/* Two digits of a share of 1, without an exponent: "0.012 %", "9.3 %", "26000 %". Returns out. */
#define TEXT_PERCENT 32
const char *text_percent(char out[TEXT_PERCENT], double share);
/* "12,345,678" */
void text_count(struct buf *out, uint64_t n);
/* "2026-01-31T23:59:59Z" for a CLOCK_MONOTONIC time. */
void text_moment(struct buf *out, uint64_t mono_ns);

#endif
