/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a hostile process: a valid malloc heap (mallocimage.h) in which the input overwrites words. 12 bytes of input
 * per word: 4 for its index (with the top bit set, the value is an address in the image), 8 for the value. The arena must be
 * found or refused, and readings must terminate and be consistent.
 */
#include "../lib/mallocimage.h"
#include "glibc/sums.h"

#define PATCH 12
#define PATCHES 4096

static void patch(struct mallocimage *im, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < PATCHES && size >= PATCH; i++, data += PATCH, size -= PATCH) {
		uint32_t where;
		uint64_t what;
		memcpy(&where, data, 4);
		memcpy(&what, data + 4, 8);
		if (where >> 31)
			what = MIMAGE_BASE + what % (MIMAGE_SZ + 4096);
		mimage_put(im, MIMAGE_BASE + (where & 0x7fffffff) % (MIMAGE_SZ / 8) * 8, what);
	}
}

static void check(const struct glibc_heap *h)
{
	struct glibc_sums s;
	struct pages all = { .fd = -1 };
	uint64_t bytes = 0, pieces = 0;
	for (size_t i = 1; i < h->chunks_cnt; i++) {
		if (h->chunks[i].addr < h->chunks[i - 1].addr + h->chunks[i - 1].size)
			abort();
	}
	for (size_t i = 0; i < h->pieces_cnt; i++)
		pieces += h->pieces[i].cnt ? h->pieces[i].end - h->pieces[i].start : 0;
	glibc_sums_take(h, ALL_ARENAS, &all, &s);
	for (int i = 0; i < CHUNK_STATES; i++)
		bytes += s.of[i].bytes;
	if (bytes != pieces)
		abort();
}

static void fill(struct mallocimage *im)
{
	uint64_t cache = mimage_cache(im);
	for (uint64_t i = 0; i < 24; i++) {
		uint64_t at = mimage_chunk(im, 0x30 + i % 4 * 0x20);
		if (i % 4 == 1)
			mimage_to_cache(im, cache, at, 3);
		if (i % 4 == 2)
			mimage_to_fastbin(im, at, 5);
	}
	mimage_to_bin(im, mimage_chunk(im, 0x1000), 70);
	mimage_chunk(im, 0x20);
	mimage_to_bin(im, mimage_chunk(im, 0x200), 0);
	mimage_map(im, 0x21000, 0);
	mimage_top(im);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mallocimage im;
	struct glibc_layout l;
	struct glibc_heap h;
	if (!size)
		return 0;
	mimage_begin(&im);
	fill(&im);
	bool sound_first = data[0] & 1;
	int rc = sound_first ? mimage_layout(&im, &l, NULL) : 0;
	patch(&im, data + 1, size - 1);
	rc = sound_first ? rc : mimage_layout(&im, &l, NULL);
	if (!rc && !glibc_heap_read(&im.memory, &im.space, &l, false, &h, NULL)) {
		glibc_heap_settle(&h, &l);
		check(&h);
		glibc_heap_free(&h);
	}
	mimage_end(&im);
	return 0;
}
