/* SPDX-License-Identifier: Apache-2.0 */
/* boehm/block_header: see block_header.h. */
#include "boehm/block_header.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NEAR 64 /* headers closer than this are read in one range */
#define LARGEST (1ull << 46)

static uint64_t word_at(const uint8_t *raw, size_t offset)
{
	uint64_t v;
	memcpy(&v, raw + offset, sizeof(v));
	return v;
}

static bool in_bits(const struct layout *l)
{
	return l->marks == LAYOUT_MARK_BITS || l->marks == LAYOUT_MARK_OBJECT_BITS;
}

size_t header_bytes(const struct layout *l)
{
	return l->marks_off + (in_bits(l) ? (GRANULES_OF_BLOCK / 64 + 1) * 8 : GRANULES_OF_BLOCK + 1);
}

struct order {
	uint64_t header;
	uint32_t place;
};

static int by_header(const void *a, const void *b)
{
	const struct order *x = a, *y = b;
	return x->header < y->header ? -1 : x->header > y->header;
}

/* Headers lie close together: one range over several is cheaper than one each. */
static size_t make_spans(const struct order *o, size_t cnt, size_t each, struct rights_range *spans, size_t *total)
{
	size_t n = 0;
	*total = 0;
	for (size_t i = 0; i < cnt; i++) {
		struct rights_range *last = n ? &spans[n - 1] : NULL;
		uint64_t end = o[i].header + each;
		if (last && o[i].header <= last->addr + last->n + NEAR && end > o[i].header) {
			*total += end - (last->addr + last->n);
			last->n = end - last->addr;
		} else {
			spans[n++] = (struct rights_range){ o[i].header, each };
			*total += each;
		}
	}
	return n;
}

static void spread(const struct order *o, size_t cnt, size_t each, const struct rights_range *spans, const uint8_t *bytes,
		   uint8_t *out)
{
	const struct rights_range *s = spans;
	for (size_t i = 0; i < cnt; i++) {
		while (o[i].header - s->addr >= s->n)
			bytes += s++->n;
		memcpy(out + o[i].place * each, bytes + (o[i].header - s->addr), each);
	}
}

int headers_read(struct memory *m, const struct index_entry *e, size_t cnt, size_t each, uint8_t *out)
{
	struct order *order = malloc(cnt * sizeof(*order));
	struct rights_range *spans = malloc(cnt * sizeof(*spans));
	uint8_t *bytes = NULL;
	size_t total, spans_cnt;
	int rc = -ENOMEM;
	if (!order || !spans)
		goto out;
	for (size_t i = 0; i < cnt; i++)
		order[i] = (struct order){ e[i].header, (uint32_t)i };
	qsort(order, cnt, sizeof(*order), by_header);
	spans_cnt = make_spans(order, cnt, each, spans, &total);
	bytes = malloc(total);
	if (!bytes)
		goto out;
	rc = memory_read_ranges(m, spans, spans_cnt, bytes, NULL);
	if (!rc)
		spread(order, cnt, each, spans, bytes, out);
out:
	free(bytes);
	free(spans);
	free(order);
	return rc;
}

static bool parse_free(struct header *out)
{
	out->bytes = out->size;
	return out->size && out->size % BOEHM_BLOCK == 0 && out->size < LARGEST;
}

static bool parse_used(struct header *out)
{
	if (!out->size || out->size % 8 || out->size >= LARGEST)
		return false;
	bool small = out->size <= BOEHM_BLOCK / 2;
	if (small && out->size % GRANULE)
		return false;
	out->objects = small ? (uint32_t)(BOEHM_BLOCK / out->size) : 1;
	out->bytes = (out->size + BOEHM_BLOCK - 1) / BOEHM_BLOCK * BOEHM_BLOCK;
	return true;
}

bool header_parse(const uint8_t *raw, const struct index_entry *e, const struct layout *l, struct header *out)
{
	*out = (struct header){
		.block = word_at(raw, 0x10),
		.size = word_at(raw, 0x20),
		.kind = raw[0x18],
		.flags = raw[0x19],
		.last_reclaimed = (uint16_t)(raw[0x1a] | raw[0x1b] << 8),
		.raw = raw,
	};
	if (header_is_free(out)) {
		/* hb_block is set when the block is first used: in a free block it is empty or stale. */
		out->block = e->block;
		return parse_free(out);
	}
	if (l)
		out->n_marks = word_at(raw, l->n_marks_off);
	return out->block == e->block && parse_used(out);
}

static bool mark_at(const struct header *h, const struct layout *l, size_t i)
{
	const uint8_t *marks = h->raw + l->marks_off;
	return in_bits(l) ? marks[i / 8] >> (i % 8) & 1 : marks[i] != 0;
}

/* Distance between the marks of neighbouring objects. */
static size_t mark_step(const struct header *h, const struct layout *l)
{
	bool each = l->marks == LAYOUT_MARK_OBJECTS || l->marks == LAYOUT_MARK_OBJECT_BITS;
	return each || h->objects == 1 ? 1 : h->size / GRANULE;
}

bool header_has_sentinel(const struct header *h, const struct layout *l)
{
	bool large = h->size > BOEHM_BLOCK / 2;
	bool each = l->marks == LAYOUT_MARK_OBJECTS || l->marks == LAYOUT_MARK_OBJECT_BITS;
	if (large)
		return mark_at(h, l, each ? 1 : GRANULES_OF_BLOCK);
	return mark_at(h, l, h->objects * mark_step(h, l));
}

uint32_t header_marks(const struct header *h, const struct layout *l, uint8_t *out)
{
	size_t step = mark_step(h, l);
	uint32_t n = 0;
	for (uint32_t i = 0; i < h->objects; i++) {
		out[i] = mark_at(h, l, i * step);
		n += out[i];
	}
	return n;
}
