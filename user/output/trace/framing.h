/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace/framing: constants of the .alys format and its frame header, private to this module. FORMAT.md is normative;
 * numbers are append only. Knows bytes, not descriptors.
 */
#ifndef ALYS_TRACE_FRAMING_H
#define ALYS_TRACE_FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "trace/trace.h"

#define TRACE_MAGIC \
	"\x89"      \
	"ALYS\r\n\x1a"
#define TRACE_MAJOR 1
#define TRACE_MINOR 7
#define TRACE_HEADER_SZ 64
#define TRACE_HEADER_MAX 4096 /* newer minor versions may add fields behind ours */

#define FRAME_SYNC 0x464c41e7u /* bytes e7 41 4c 46 */
#define FRAME_HEAD_SZ 48
#define FRAME_RAW_MAX (1u << 20) /* maximum uncompressed size of a frame */
#define FRAME_RAW_AIM (64u * 1024)
#define FRAME_EVENTS_MAX (64u * 1024)
#define FRAME_ALIGN 8 /* padding is zero and not covered by the checksum */

enum frame_type {
	FRAME_DEFS = 1,
	FRAME_EVENTS = 2,
	FRAME_END = 3,
	FRAME_HEAP = 8, /* part of a dump; optional */
};

enum frame_flag {
	FRAME_F_ZSTD = 1,     /* payload is one zstd frame */
	FRAME_F_OPTIONAL = 2, /* a reader that does not know the type may skip it */
};

struct frame_head {
	uint16_t type, flags;
	uint32_t stored_len, raw_len;
	uint64_t seq;
	uint64_t t_ns;
	uint32_t count; /* events or records inside */
	uint32_t payload_crc;
};

/* Longer texts are truncated on writing; readers need no more room. */
#define TRACE_TEXT_MAX 16383
#define TRACE_STACK_MAX 4096
#define TRACE_INLINE_MAX 256

void header_encode(struct buf *out, const struct trace_clock *clock);
/* bytes: TRACE_HEADER_SZ of them. Fills version and clock; returns the offset of the first frame. */
int header_decode(const uint8_t *bytes, const char *name, struct trace_health *health, uint32_t *frames_at, struct err *err);

void frame_head_encode(struct buf *out, const struct frame_head *h);
/* False if the 48 bytes are not a frame header or its lengths are out of bounds. */
bool frame_head_decode(const uint8_t *bytes, struct frame_head *h);
uint32_t frame_crc(const void *bytes, size_t n);

static inline uint64_t frame_padded(uint64_t n)
{
	return (n + FRAME_ALIGN - 1) & ~(uint64_t)(FRAME_ALIGN - 1);
}

/* For tests; the default is in writer.c. */
void trace_writer_set_segment(struct trace_writer *w, uint64_t bytes);

#endif
