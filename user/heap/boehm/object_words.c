/* SPDX-License-Identifier: Apache-2.0 */
/* boehm/object_words: the first words of a heap's objects; see heap.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "boehm/heap.h"

#define BATCH_BLOCKS 1024
#define WORD 8

/* From the first marked object to the last: one range is cheaper than one per object. n = 0: none is marked. */
static struct rights_range span_of(const struct boehm_heap *h, const struct heap_block *b)
{
	const uint8_t *marks = h->marks + b->marks;
	uint32_t first = 0, last = b->objects;
	if (!b->live)
		return (struct rights_range){ b->addr, 0 };
	while (!marks[first])
		first++;
	while (!marks[last - 1])
		last--;
	return (struct rights_range){ b->addr + first * b->size, (last - 1 - first) * b->size + WORD };
}

static void take_words(const struct boehm_heap *h, const struct heap_block *b, const struct rights_range *span,
		       const uint8_t *bytes, uint64_t *out)
{
	for (uint32_t i = 0; i < b->objects; i++) {
		uint64_t at = b->addr + i * b->size - span->addr;
		out[b->marks + i] = 0;
		if (span->n && h->marks[b->marks + i])
			memcpy(&out[b->marks + i], bytes + at, WORD);
	}
}

static int first_words(struct memory *m, const struct boehm_heap *h, uint64_t *out)
{
	struct rights_range spans[BATCH_BLOCKS];
	uint8_t *bytes = malloc((size_t)BATCH_BLOCKS * BOEHM_BLOCK);
	int rc = bytes ? 0 : -ENOMEM;
	for (size_t at = 0; !rc && at < h->blocks_cnt;) {
		size_t n = 0;
		const uint8_t *next = bytes;
		for (; n < BATCH_BLOCKS && at + n < h->blocks_cnt; n++)
			spans[n] = span_of(h, &h->blocks[at + n]);
		rc = memory_read_ranges(m, spans, n, bytes, NULL);
		for (size_t i = 0; !rc && i < n; next += spans[i++].n)
			take_words(h, &h->blocks[at + i], &spans[i], next, out);
		at += n;
	}
	free(bytes);
	return rc;
}

/* --- free lists --------------------------------------------------------------------------------- */

/* Index in marks of the object to which the word points, if it has the size and kind of block b; else SIZE_MAX. */
static size_t pointed_to(const struct boehm_heap *h, const struct heap_block *b, uint64_t word)
{
	struct heap_object o;
	if (!word || !boehm_heap_find(h, word, &o) || o.base != word || o.kind != b->kind || o.size != b->size || !o.marked)
		return SIZE_MAX;
	return h->blocks[o.block].marks + o.index;
}

static bool is_listed_size(const struct heap_block *b)
{
	return b->objects > 1 && b->live;
}

struct candidates {
	struct rights_range *rest; /* the object without its first word */
	size_t *places;
	size_t cnt;
	uint64_t total;
};

/* Collects up to `cap` candidates; *block is advanced to where the next call continues. */
static void gather(const struct boehm_heap *h, const uint64_t *words, size_t *block, size_t cap, struct candidates *c)
{
	c->cnt = 0;
	c->total = 0;
	for (; *block < h->blocks_cnt && c->cnt + BOEHM_BLOCK / 16 <= cap; (*block)++) {
		const struct heap_block *b = &h->blocks[*block];
		for (uint32_t i = 0; is_listed_size(b) && i < b->objects; i++) {
			size_t place = b->marks + i;
			if (!h->marks[place] || pointed_to(h, b, words[place]) == SIZE_MAX)
				continue;
			c->rest[c->cnt] = (struct rights_range){ b->addr + i * b->size + WORD,
								 b->kind == HEAP_ATOMIC ? 0 : b->size - WORD };
			c->total += c->rest[c->cnt].n;
			c->places[c->cnt++] = place;
		}
	}
}

static bool all_zero(const uint8_t *bytes, size_t n)
{
	return !n || (!bytes[0] && !memcmp(bytes, bytes + 1, n - 1));
}

static int judge(struct memory *m, const struct candidates *c, uint8_t *bytes, uint8_t *out)
{
	int rc = memory_read_ranges(m, c->rest, c->cnt, bytes, NULL);
	for (size_t i = 0; !rc && i < c->cnt; bytes += c->rest[i++].n)
		out[c->places[i]] = all_zero(bytes, c->rest[i].n);
	return rc;
}

/* The last cell of a free list holds no address, so it is recognized by the link to it. */
static void take_ends(const struct boehm_heap *h, const uint64_t *words, uint8_t *out)
{
	for (size_t k = 0; k < h->blocks_cnt; k++) {
		const struct heap_block *b = &h->blocks[k];
		for (uint32_t i = 0; is_listed_size(b) && i < b->objects; i++) {
			size_t to = out[b->marks + i] == 1 ? pointed_to(h, b, words[b->marks + i]) : SIZE_MAX;
			if (to != SIZE_MAX && !words[to])
				out[to] = 2;
		}
	}
	for (size_t i = 0; i < h->marks_cnt; i++)
		out[i] = out[i] != 0;
}

#define CANDIDATES 8192

static int find_listed(struct memory *m, const struct boehm_heap *h, const uint64_t *words, uint8_t *out)
{
	struct candidates c = { malloc(CANDIDATES * sizeof(*c.rest)), malloc(CANDIDATES * sizeof(*c.places)), 0, 0 };
	uint8_t *bytes = malloc((size_t)CANDIDATES * BOEHM_BLOCK / 2);
	int rc = c.rest && c.places && bytes ? 0 : -ENOMEM;
	for (size_t block = 0; !rc && block < h->blocks_cnt;) {
		gather(h, words, &block, CANDIDATES, &c);
		rc = judge(m, &c, bytes, out);
	}
	if (!rc)
		take_ends(h, words, out);
	free(c.rest);
	free(c.places);
	free(bytes);
	return rc;
}

static void take_marks_off(struct boehm_heap *h, const uint8_t *listed, uint64_t *words)
{
	for (size_t k = 0; k < h->blocks_cnt; k++) {
		struct heap_block *b = &h->blocks[k];
		for (size_t at = b->marks; at < b->marks + b->objects; at++) {
			if (!listed[at])
				continue;
			h->marks[at] = 0;
			words[at] = 0;
			b->live--;
			h->listed_cnt++;
			h->listed_bytes += b->size;
		}
	}
}

int boehm_unlist(struct memory *m, struct boehm_heap *h, uint64_t **words)
{
	uint8_t *listed = calloc(h->marks_cnt + 1, 1);
	*words = calloc(h->marks_cnt + 1, sizeof(**words));
	int rc = listed && *words ? first_words(m, h, *words) : -ENOMEM;
	if (!rc)
		rc = find_listed(m, h, *words, listed);
	if (!rc)
		take_marks_off(h, listed, *words);
	free(listed);
	if (rc) {
		free(*words);
		*words = NULL;
	}
	return rc;
}
