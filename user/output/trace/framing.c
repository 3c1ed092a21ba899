/* SPDX-License-Identifier: Apache-2.0 */
/* trace/framing: the file header and frame headers; see framing.h. */
#include "trace/framing.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "base/clock.h"
#include "base/cursor.h"

#define HEADER_CRC_AT 60
#define HEAD_CRC_AT 44

uint32_t frame_crc(const void *bytes, size_t n)
{
	return (uint32_t)crc32_z(0, bytes, n);
}

struct trace_clock trace_clock_now(void)
{
	return (struct trace_clock){
		.mono_ns = now_ns(),
		.real_ns = clock_ns(CLOCK_REALTIME),
		.boot_ns = clock_ns(CLOCK_BOOTTIME),
	};
}

void header_encode(struct buf *out, const struct trace_clock *clock)
{
	size_t start = out->len;
	buf_add(out, TRACE_MAGIC, 8);
	buf_le(out, TRACE_MAJOR, 2);
	buf_le(out, TRACE_MINOR, 2);
	buf_le(out, TRACE_HEADER_SZ, 4);
	buf_le(out, 0, 8); /* features that a reader must know */
	buf_le(out, 0, 8); /* features that a reader may ignore */
	buf_le(out, clock->mono_ns, 8);
	buf_le(out, clock->real_ns, 8);
	buf_le(out, clock->boot_ns, 8);
	buf_le(out, 0, 4);
	if (!out->failed)
		buf_le(out, frame_crc(out->data + start, HEADER_CRC_AT), 4);
}

int header_decode(const uint8_t *bytes, const char *name, struct trace_health *health, uint32_t *frames_at, struct err *err)
{
	struct cursor c = cursor_over(bytes, TRACE_HEADER_SZ);
	if (memcmp(cursor_bytes(&c, 8), TRACE_MAGIC, 8) != 0)
		return err_set(err, EINVAL, "%s is not a .alys file", name);
	health->major = (uint16_t)cursor_le(&c, 2);
	health->minor = (uint16_t)cursor_le(&c, 2);
	*frames_at = (uint32_t)cursor_le(&c, 4);
	uint64_t required = cursor_le(&c, 8);
	cursor_le(&c, 8);
	health->clock.mono_ns = cursor_le(&c, 8);
	health->clock.real_ns = cursor_le(&c, 8);
	health->clock.boot_ns = cursor_le(&c, 8);
	cursor_le(&c, 4);
	if (cursor_le(&c, 4) != frame_crc(bytes, HEADER_CRC_AT))
		return err_set(err, EBADMSG, "%s: the header is damaged (checksum)", name);
	if (health->major != TRACE_MAJOR)
		return err_set(err, EPROTONOSUPPORT, "%s has format version %u.%u; this program reads %u: use a newer alys-bpf",
			       name, health->major, health->minor, TRACE_MAJOR);
	if (required)
		return err_set(err, EPROTONOSUPPORT,
			       "%s needs features (0x%llx) that this program does not know: use a newer alys-bpf", name,
			       (unsigned long long)required);
	if (*frames_at < TRACE_HEADER_SZ || *frames_at > TRACE_HEADER_MAX)
		return err_set(err, EBADMSG, "%s: the header claims %u bytes", name, *frames_at);
	return 0;
}

void frame_head_encode(struct buf *out, const struct frame_head *h)
{
	size_t start = out->len;
	buf_le(out, FRAME_SYNC, 4);
	buf_le(out, h->type, 2);
	buf_le(out, h->flags, 2);
	buf_le(out, h->stored_len, 4);
	buf_le(out, h->raw_len, 4);
	buf_le(out, h->seq, 8);
	buf_le(out, h->t_ns, 8);
	buf_le(out, h->count, 4);
	buf_le(out, h->payload_crc, 4);
	buf_le(out, 0, 4);
	if (!out->failed)
		buf_le(out, frame_crc(out->data + start, HEAD_CRC_AT), 4);
}

bool frame_head_decode(const uint8_t *bytes, struct frame_head *h)
{
	struct cursor c = cursor_over(bytes, FRAME_HEAD_SZ);
	if (cursor_le(&c, 4) != FRAME_SYNC)
		return false;
	h->type = (uint16_t)cursor_le(&c, 2);
	h->flags = (uint16_t)cursor_le(&c, 2);
	h->stored_len = (uint32_t)cursor_le(&c, 4);
	h->raw_len = (uint32_t)cursor_le(&c, 4);
	h->seq = cursor_le(&c, 8);
	h->t_ns = cursor_le(&c, 8);
	h->count = (uint32_t)cursor_le(&c, 4);
	h->payload_crc = (uint32_t)cursor_le(&c, 4);
	cursor_le(&c, 4);
	if (cursor_le(&c, 4) != frame_crc(bytes, HEAD_CRC_AT))
		return false;
	return h->raw_len <= FRAME_RAW_MAX && h->stored_len <= FRAME_RAW_MAX;
}
