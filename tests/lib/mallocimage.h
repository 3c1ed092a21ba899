/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A synthetic malloc heap, laid out as by glibc 2.36: one contiguous range of a "process" with the library's data, the main
 * arena's chunks, and a mapping of large chunks.
 *
 *   BASE + 0x800 main arena   + 0x2000 struct malloc_par: mmapped bytes   + 0x10000 chunks   + 0x80000 mmapped chunks
 */
#ifndef TESTS_MALLOCIMAGE_H
#define TESTS_MALLOCIMAGE_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "glibc/glibc_heap.h"

#define MIMAGE_BASE 0x7f4000000000ull
#define MIMAGE_SZ (1u << 20)
#define MIMAGE_ARENA (MIMAGE_BASE + 0x800)
#define MIMAGE_BINS 0x70
#define MIMAGE_PAR (MIMAGE_BASE + 0x2000)
#define MIMAGE_HEAP (MIMAGE_BASE + 0x10000)
#define MIMAGE_HEAP_END (MIMAGE_BASE + 0x30000)
#define MIMAGE_MAPPED (MIMAGE_BASE + 0x80000)
#define MIMAGE_VERSION 36

struct mallocimage {
	uint8_t *bytes;
	struct memory memory;
	struct memory_source source;
	struct space space;
	uint64_t next, mapped; /* addresses of the next chunk and of the next mmapped one */
	bool last_free;        /* the last chunk is in a bin */
	uint64_t changes_at;   /* at this read changes_word is set to changes_to; 0 = never */
	uint64_t changes_word, changes_to, reads;
};

static inline void mimage_put(struct mallocimage *im, uint64_t addr, uint64_t value)
{
	if (addr >= MIMAGE_BASE && addr - MIMAGE_BASE <= MIMAGE_SZ - 8)
		memcpy(im->bytes + (addr - MIMAGE_BASE), &value, 8);
}

static inline uint64_t mimage_get(const struct mallocimage *im, uint64_t addr)
{
	uint64_t value;
	memcpy(&value, im->bytes + (addr - MIMAGE_BASE), 8);
	return value;
}

static inline int64_t mimage_read(void *ctx, uint64_t addr, void *out, size_t n)
{
	struct mallocimage *im = ctx;
	if (im->changes_at && ++im->reads == im->changes_at)
		mimage_put(im, im->changes_word, im->changes_to);
	if (addr < MIMAGE_BASE || addr >= MIMAGE_BASE + MIMAGE_SZ)
		return -EFAULT;
	size_t left = MIMAGE_BASE + MIMAGE_SZ - addr;
	n = n < left ? n : left;
	memcpy(out, im->bytes + (addr - MIMAGE_BASE), n);
	return (int64_t)n;
}

static inline uint64_t mimage_bin(size_t i)
{
	return MIMAGE_ARENA + MIMAGE_BINS + 16 * i - 16;
}

static inline void mimage_region(struct mallocimage *im, uint64_t start, uint64_t end, uint64_t ino, const char *path)
{
	const struct space_region r = {
		.start = start, .end = end, .ino = ino, .readable = true, .writable = true, .path = path
	};
	space_add(&im->space, &r);
}

static inline void mimage_begin(struct mallocimage *im)
{
	*im = (struct mallocimage){ .bytes = calloc(1, MIMAGE_SZ), .next = MIMAGE_HEAP, .mapped = MIMAGE_MAPPED };
	im->source = (struct memory_source){ mimage_read, im };
	im->memory.source = &im->source;
	mimage_region(im, MIMAGE_BASE, MIMAGE_BASE + 0x10000, 7, "/libc.so.6");
	/* In two, as in a child that has made its parent's heap larger. */
	mimage_region(im, MIMAGE_HEAP, MIMAGE_HEAP + 0x4000, 0, "[heap]");
	mimage_region(im, MIMAGE_HEAP + 0x4000, MIMAGE_HEAP_END, 0, "[heap]");
	mimage_region(im, MIMAGE_MAPPED, MIMAGE_BASE + MIMAGE_SZ, 0, "");
	for (size_t i = 0; i < GLIBC_BINS; i++) {
		mimage_put(im, mimage_bin(i) + 16, mimage_bin(i));
		mimage_put(im, mimage_bin(i) + 24, mimage_bin(i));
	}
	mimage_put(im, MIMAGE_ARENA + 0x870, MIMAGE_ARENA);
	mimage_put(im, MIMAGE_ARENA + 0x888, MIMAGE_HEAP_END - MIMAGE_HEAP);
	mimage_put(im, MIMAGE_ARENA + 0x890, MIMAGE_HEAP_END - MIMAGE_HEAP);
	mimage_put(im, MIMAGE_PAR + 16, MIMAGE_HEAP);
}

/* Adds a chunk in use; returns its address. */
static inline uint64_t mimage_chunk(struct mallocimage *im, uint64_t size)
{
	uint64_t at = im->next;
	mimage_put(im, at + 8, size | !im->last_free);
	mimage_put(im, at + 16, at); /* contents */
	im->last_free = false;
	im->next += size;
	return at;
}

/* Adds the chunk with a thread cache's table. */
static inline uint64_t mimage_cache(struct mallocimage *im)
{
	uint64_t at = mimage_chunk(im, 0x290);
	mimage_put(im, at + 16, 0);
	return at;
}

/* Puts the last chunk into a bin. */
static inline void mimage_to_bin(struct mallocimage *im, uint64_t at, size_t bin)
{
	uint64_t head = mimage_bin(bin), first = mimage_get(im, head + 16);
	mimage_put(im, at + 16, first);
	mimage_put(im, at + 24, head);
	mimage_put(im, head + 16, at);
	mimage_put(im, first + 24, at);
	mimage_put(im, im->next, im->next - at);
	im->last_free = true;
}

static inline void mimage_to_fastbin(struct mallocimage *im, uint64_t at, size_t i)
{
	uint64_t head = MIMAGE_ARENA + 0x10 + 8 * i;
	mimage_put(im, at + 16, mimage_get(im, head) ^ (at + 16) >> 12);
	mimage_put(im, head, at);
}

/* Puts a chunk into list i of the thread cache whose table is in the chunk `cache`. */
static inline void mimage_to_cache(struct mallocimage *im, uint64_t cache, uint64_t at, size_t i)
{
	uint64_t counts = cache + 16 + i / 4 * 8, head = cache + 16 + 128 + 8 * i;
	mimage_put(im, at + 16, mimage_get(im, head) ^ (at + 16) >> 12);
	mimage_put(im, head, at + 16);
	mimage_put(im, counts, mimage_get(im, counts) + (1ull << 16 * (i % 4)));
}

static inline uint64_t mimage_map(struct mallocimage *im, uint64_t size, uint64_t before)
{
	uint64_t at = im->mapped + before;
	mimage_put(im, at, before);
	mimage_put(im, at + 8, size | 2);
	mimage_put(im, MIMAGE_PAR, mimage_get(im, MIMAGE_PAR) + before + size);
	mimage_put(im, MIMAGE_PAR + 8, mimage_get(im, MIMAGE_PAR));
	im->mapped += before + size;
	return at;
}

/* By memalign: the block had this many bytes before, and its header is still there. */
static inline uint64_t mimage_map_aligned(struct mallocimage *im, uint64_t size, uint64_t before, uint64_t had)
{
	mimage_put(im, im->mapped + 8, had | 2);
	return mimage_map(im, size, before);
}

static inline void mimage_top(struct mallocimage *im)
{
	mimage_put(im, im->next + 8, (MIMAGE_HEAP_END - im->next) | !im->last_free);
	mimage_put(im, MIMAGE_ARENA + 0x60, im->next);
}

static inline int mimage_layout(struct mallocimage *im, struct glibc_layout *out, struct err *err)
{
	const struct space_region file = { .ino = 7 };
	return glibc_layout_find(&im->memory, &im->space, &file, MIMAGE_VERSION, out, err);
}

static inline void mimage_end(struct mallocimage *im)
{
	space_free(&im->space);
	free(im->bytes);
}

#endif
