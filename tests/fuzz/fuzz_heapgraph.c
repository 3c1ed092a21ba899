/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a hostile process: a valid heap (heapimage.h) in which the input overwrites words. 12 bytes of input per
 * word: 4 for its index (with the top bit set, the value is an address in the image), 8 for the value. The layout must be
 * found or refused, and readings must terminate, stay within what they have read and be consistent.
 */
#include <stdlib.h>

#include "../lib/heapimage.h"
#include "heapgraph/census.h"

#define PATCH 12
#define PATCHES 4096

static void patch(struct heapimage *im, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < PATCHES && size >= PATCH; i++, data += PATCH, size -= PATCH) {
		uint32_t where;
		uint64_t what;
		memcpy(&where, data, 4);
		memcpy(&what, data + 4, 8);
		if (where >> 31)
			what = IMAGE_BASE + what % (IMAGE_SZ + 4096);
		image_put(im, IMAGE_BASE + (where & 0x7fffffff) % (IMAGE_SZ / 8) * 8, what, 8);
	}
}

static void check(const struct boehm_heap *h)
{
	size_t marks = 0;
	uint64_t bytes = h->free_bytes + h->unmapped_bytes;
	for (size_t i = 0; i < h->blocks_cnt; i++) {
		const struct heap_block *b = &h->blocks[i];
		struct heap_object o;
		if (b->marks != marks || !b->objects || b->live > b->objects || b->objects * b->size > b->bytes)
			abort();
		if (!boehm_heap_find(h, b->addr + b->size - 1, &o) || o.base != b->addr || o.block != i)
			abort();
		if (i && b->addr < h->blocks[i - 1].addr + h->blocks[i - 1].bytes)
			abort();
		marks += b->objects;
		bytes += b->bytes;
	}
	if (marks != h->marks_cnt || bytes != h->heap_bytes)
		abort();
}

static void take(struct heapimage *im, struct boehm_heap *h)
{
	struct types t;
	struct census c;
	struct accounts a;
	uint32_t *pinned;
	uint64_t *words;
	if (boehm_unlist(&im->memory, h, &words))
		return;
	if (!types_begin(&t) && !census_take(h, words, &t, false, &c, NULL))
		census_free(&c);
	if (!accounts_take(h, &a))
		accounts_free(&a);
	accounts_pinned(h, 0.5, &pinned);
	free(pinned);
	free(words);
	types_free(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct heapimage im;
	struct layout l;
	struct boehm_heap h;
	if (!size)
		return 0;
	image_begin(&im, (enum layout_marks)(data[0] % 4));
	for (uint64_t i = 0; i < 12; i++)
		image_block(&im, 16 + i * i * 48, i % 4, 0xff33550f);
	image_gap(&im, 8192, data[0] & 8);
	image_block(&im, 100000, HEAP_NORMAL, 1);
	bool sound_first = data[0] & 4;
	int rc = sound_first ? image_layout(&im, &l, NULL) : 0;
	patch(&im, data + 1, size - 1);
	rc = sound_first ? rc : image_layout(&im, &l, NULL);
	if (!rc && !boehm_heap_read_now(&im.memory, &l, &h, NULL)) {
		check(&h);
		take(&im, &h);
		boehm_heap_free(&h);
	}
	image_end(&im);
	return 0;
}
