/* SPDX-License-Identifier: Apache-2.0 */
/* glibc/malloc_chunks: what a reading of a malloc heap consists of: arenas, their memory, chunks by address. */
#ifndef ALYS_GLIBC_MALLOC_CHUNKS_H
#define ALYS_GLIBC_MALLOC_CHUNKS_H

#include "base/err.h"
#include "glibc/arena_layout.h"

#define CHUNK_HEADER 16  /* in front of what malloc returns */
#define CHUNK_OVERHEAD 8 /* of a chunk in use: the last word of the header belongs to its predecessor */

enum chunk_state {
	CHUNK_USED,
	CHUNK_TCACHE,
	CHUNK_FASTBIN,
	CHUNK_UNSORTED,
	CHUNK_SMALL, /* in a small bin */
	CHUNK_LARGE,
	CHUNK_TOP,
	CHUNK_FENCE, /* the end of a piece of heap */
	CHUNK_FREE,  /* in no list: it was being moved while it was read */
	CHUNK_STATES
};

struct glibc_chunk {
	uint64_t addr; /* of its header */
	uint64_t word; /* the first of its contents: of a free chunk the next in its list */
	uint64_t size : 56, state : 8;
};

struct glibc_arena {
	uint64_t addr, top, system_bytes;
	uint64_t fastbins[GLIBC_FASTBINS];
	uint64_t bins[2 * GLIBC_BINS];
	bool locked, scattered; /* scattered: not one piece */
};

/* Memory that belongs to an arena, without holes. */
struct glibc_piece {
	uint64_t start, end; /* of its chunks, top included */
	uint32_t arena;
	size_t first, cnt; /* its chunks */
};

struct glibc_mapped {   /* a chunk in a mapping of its own */
	uint64_t start; /* of the mapping */
	struct glibc_chunk chunk;
};

#define TCACHE_BINS 64

struct glibc_cache {   /* of a thread */
	uint64_t addr; /* of its chunk */
	uint16_t counts[TCACHE_BINS];
	uint64_t entries[TCACHE_BINS];
};

struct glibc_heap {
	struct glibc_arena *arenas;
	size_t arenas_cnt, arenas_cap;
	struct glibc_piece *pieces;
	size_t pieces_cnt, pieces_cap;
	struct glibc_chunk *chunks; /* by address */
	size_t chunks_cnt, chunks_cap;
	struct glibc_mapped *mapped;
	size_t mapped_cnt, mapped_cap;
	struct glibc_cache *caches;
	size_t caches_cnt, caches_cap;
	uint64_t unread_bytes; /* of the arenas: in pieces that were not found */
	uint64_t mapped_bytes; /* of mmapped chunks, as malloc counts them; UINT64_MAX = unknown */
	uint64_t odd;          /* what does not fit together: it changed while it was read, or is damaged */
	struct err first_odd;  /* the first of it */
};

void glibc_heap_free(struct glibc_heap *h);
/* The chunk that begins there, or NULL. */
struct glibc_chunk *glibc_chunk_at(const struct glibc_heap *h, uint64_t addr);
/* Counts something that does not fit; the first is kept as its sentence. */
void glibc_heap_odd(struct glibc_heap *h, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Bytes that the program may use, as malloc_usable_size has them. */
static inline uint64_t glibc_usable(const struct glibc_chunk *c)
{
	return c->size > CHUNK_OVERHEAD ? c->size - CHUNK_OVERHEAD : 0;
}

#endif
