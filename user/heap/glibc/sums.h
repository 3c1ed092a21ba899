/* SPDX-License-Identifier: Apache-2.0 */
/* glibc/sums: what a malloc heap adds up to: by state, by arena, by size; what malloc_trim would give back. */
#ifndef ALYS_GLIBC_SUMS_H
#define ALYS_GLIBC_SUMS_H

#include "base/buf.h"
#include "glibc/malloc_chunks.h"
#include "access/pages.h"

struct glibc_sum {
	uint64_t cnt, bytes, resident; /* bytes: with headers */
};

struct glibc_sums {
	struct glibc_sum of[CHUNK_STATES]; /* of all arenas */
	struct glibc_sum mapped;           /* whole mappings */
	uint64_t arena_bytes;
	uint64_t trimmable; /* resident pages that malloc_trim(0) would give back */
};

#define ALL_ARENAS UINT32_MAX

/* Of one arena, or all. pages NULL: without `resident` and `trimmable`. mmapped chunks belong to no arena. */
void glibc_sums_take(const struct glibc_heap *h, uint32_t arena, struct pages *pages, struct glibc_sums *out);
struct glibc_size { /* chunks of one size class: see glibc_size_class */
	uint64_t size;
	bool mapped;
	uint64_t cnt[CHUNK_STATES], used_bytes, free_bytes; /* bytes: with headers */
};

struct glibc_sizes {
	struct glibc_size *all;
	size_t all_cnt, all_cap;
};

/* What is at the top of an arena is of no size. -ENOMEM. Then free(out->all). */
int glibc_sizes_take(const struct glibc_heap *h, struct glibc_sizes *out);
/* Of usable bytes: exact where there are many of one size, else all up to twice as many. */
uint64_t glibc_size_class(uint64_t usable);
/* "24 bytes", "2 to 4 KiB". */
void glibc_size_text(uint64_t size_class, struct buf *out);
/* Bytes of chunks that the program does not use. */
uint64_t glibc_sums_free(const struct glibc_sums *s);

#endif
