/* SPDX-License-Identifier: Apache-2.0 */
/* push/payload: see payload.h. */
#include "push/payload.h"

#include <stdio.h>
#include <stdlib.h>

#include <zlib.h>

#include "base/text.h"

/* Pyroscope refuses a series with more than 30 labels; five of ours and __delta__ are among them. */
#define ATTRIBUTE_LABELS_MAX 24

typedef void label_fn(struct buf *out, const char *name, const char *value);

/* The labels of `who` in both formats. */
static void put_labels(struct buf *out, const struct payload_who *who, label_fn *put)
{
	char pid[16];
	struct attribute a;
	size_t at = 0;
	snprintf(pid, sizeof(pid), "%u", who->pid);
	put(out, "__name__", "memory");
	put(out, "service_name",
	    attributes_get(who->attributes, "service.name", &a) ? a.value
	    : *who->comm                                        ? who->comm
								: "unknown");
	put(out, "pid", pid);
	if (*who->exe)
		put(out, "exe", who->exe);
	if (*who->build_id)
		put(out, "build_id", who->build_id);
	for (int n = 0; n < ATTRIBUTE_LABELS_MAX && attributes_next_label(who->attributes, &at, &a); n++)
		put(out, a.name, a.value);
}

static void put_json_label(struct buf *out, const char *name, const char *value)
{
	buf_addf(out, "{\"name\":\"%s\",\"value\":", name);
	text_json(out, value);
	buf_adds(out, "},");
}

/* The profiles are deltas; without the last label Pyroscope treats them as cumulative and subtracts them. */
static void put_json(struct buf *out, const struct payload_who *who, const struct buf *pprof)
{
	buf_adds(out, "{\"series\":[{\"labels\":[");
	put_labels(out, who, put_json_label);
	buf_adds(out, "{\"name\":\"__delta__\",\"value\":\"false\"}],\"samples\":[{\"rawProfile\":\"");
	text_base64(out, pprof->data, pprof->len);
	buf_adds(out, "\"}]}]}");
}

/* Tag and length of a length-delimited protobuf field. */
static void put_field(struct buf *out, uint8_t number, size_t n)
{
	buf_u8(out, (uint8_t)(number << 3 | 2));
	buf_varint(out, n);
}

static size_t field_sz(size_t n)
{
	size_t sz = 2 + n;
	for (size_t rest = n >> 7; rest; rest >>= 7)
		sz++;
	return sz;
}

static void put_text_field(struct buf *out, uint8_t number, const char *text)
{
	struct buf clean = { 0 };
	text_clean(&clean, text, SIZE_MAX);
	put_field(out, number, clean.len);
	buf_add(out, clean.data, clean.len);
	out->failed |= clean.failed;
	buf_free(&clean);
}

/* The prefix of a gRPC message: whether it is compressed, and its length. */
static void put_grpc_prefix(struct buf *out, bool compressed, uint64_t n)
{
	buf_u8(out, compressed);
	for (int shift = 24; shift >= 0; shift -= 8)
		buf_u8(out, (uint8_t)(n >> shift));
}

static void put_message_label(struct buf *out, const char *name, const char *value)
{
	struct buf one = { 0 };
	put_text_field(&one, 1, name);
	put_text_field(&one, 2, value);
	put_field(out, 1, one.len);
	buf_add(out, one.data, one.len);
	out->failed |= one.failed;
	buf_free(&one);
}

/*
 * parca.profilestore.v1alpha1.WriteRawRequest, with field numbers:
 * series 2 { labels 1 { labels 1 { name 1, value 2 } }, samples 2 { raw_profile 1 } }
 */
static void put_message(struct buf *out, const struct payload_who *who, const struct buf *pprof)
{
	struct buf set = { 0 };
	put_labels(&set, who, put_message_label);
	size_t sample = field_sz(pprof->len), series = field_sz(set.len) + field_sz(sample);
	put_grpc_prefix(out, false, field_sz(series)); /* the profile is gzipped already */
	put_field(out, 2, series);
	put_field(out, 1, set.len);
	buf_add(out, set.data, set.len);
	put_field(out, 2, sample);
	put_field(out, 1, pprof->len);
	buf_add(out, pprof->data, pprof->len);
	out->failed |= set.failed;
	buf_free(&set);
}

static void put_gzipped(struct buf *out, const struct buf *raw)
{
	/* 15 + 16: the largest window, and a gzip header. */
	z_stream z = { .next_in = raw->data, .avail_in = (uInt)raw->len };
	if (raw->len > UINT32_MAX || deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY)) {
		out->failed = true;
		return;
	}
	size_t most = deflateBound(&z, (uLong)raw->len);
	z.next_out = buf_room(out, most);
	z.avail_out = (uInt)most;
	out->failed |= !z.next_out || deflate(&z, Z_FINISH) != Z_STREAM_END;
	out->len += out->failed ? 0 : z.total_out;
	deflateEnd(&z);
}

/* ProfilesData has the fields of ExportProfilesServiceRequest. */
static void put_otlp(struct buf *out, bool grpc, const struct buf *profiles)
{
	struct buf packed = { 0 };
	put_gzipped(&packed, profiles);
	if (grpc)
		put_grpc_prefix(out, true, packed.len);
	buf_add(out, packed.data, packed.len);
	out->failed |= packed.failed;
	buf_free(&packed);
}

struct payload *payload_new(enum push_kind kind, const struct payload_who *who, const struct buf *profile)
{
	struct payload *p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	switch (kind) {
	case PUSH_PYROSCOPE: put_json(&p->body, who, profile); break;
	case PUSH_PARCA: put_message(&p->body, who, profile); break;
	case PUSH_OTLP:
	case PUSH_OTLP_GRPC: put_otlp(&p->body, kind == PUSH_OTLP_GRPC, profile); break;
	}
	if (!p->body.failed)
		return p;
	payload_free(p);
	return NULL;
}

void payload_free(struct payload *p)
{
	if (p)
		buf_free(&p->body);
	free(p);
}
