/* SPDX-License-Identifier: Apache-2.0 */
/* push/payload: see payload.h. */
#include "push/payload.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"

struct label {
	const char *name, *value;
};

static void put_json(struct buf *out, const struct label *labels, size_t n, const struct buf *pprof)
{
	buf_adds(out, "{\"series\":[{\"labels\":[");
	for (size_t i = 0; i < n; i++) {
		buf_addf(out, "%s{\"name\":\"%s\",\"value\":", i ? "," : "", labels[i].name);
		text_json(out, labels[i].value);
		buf_adds(out, "}");
	}
	buf_adds(out, "],\"samples\":[{\"rawProfile\":\"");
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

/*
 * parca.profilestore.v1alpha1.WriteRawRequest, with field numbers:
 * series 2 { labels 1 { labels 1 { name 1, value 2 } }, samples 2 { raw_profile 1 } }
 */
static void put_message(struct buf *out, const struct label *labels, size_t n, const struct buf *pprof)
{
	struct buf set = { 0 };
	for (size_t i = 0; i < n; i++) {
		struct buf one = { 0 };
		put_text_field(&one, 1, labels[i].name);
		put_text_field(&one, 2, labels[i].value);
		put_field(&set, 1, one.len);
		buf_add(&set, one.data, one.len);
		set.failed |= one.failed;
		buf_free(&one);
	}
	size_t sample = field_sz(pprof->len), series = field_sz(set.len) + field_sz(sample);
	uint64_t whole = field_sz(series);
	buf_u8(out, 0); /* gRPC compression flag: the profile is gzipped already */
	for (int shift = 24; shift >= 0; shift -= 8)
		buf_u8(out, (uint8_t)(whole >> shift));
	put_field(out, 2, series);
	put_field(out, 1, set.len);
	buf_add(out, set.data, set.len);
	put_field(out, 2, sample);
	put_field(out, 1, pprof->len);
	buf_add(out, pprof->data, pprof->len);
	out->failed |= set.failed;
	buf_free(&set);
}

struct payload *payload_new(enum push_kind kind, const struct payload_who *who, const struct buf *pprof)
{
	struct payload *p = calloc(1, sizeof(*p));
	char pid[16];
	if (!p)
		return NULL;
	snprintf(pid, sizeof(pid), "%u", who->pid);
	const struct label labels[] = {
		{ "__name__", "memory" },
		{ "service_name", *who->comm ? who->comm : "unknown" },
		{ "pid", pid },
		/* The profiles are deltas; without this label Pyroscope treats them as cumulative and subtracts them. */
		{ "__delta__", "false" },
	};
	if (kind == PUSH_PARCA)
		put_message(&p->body, labels, 3, pprof);
	else
		put_json(&p->body, labels, 4, pprof);
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
