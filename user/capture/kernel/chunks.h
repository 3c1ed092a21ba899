/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel/chunks: allocates space in the walk's chunk maps (bpf/rows.h), in words. Write to an extent before anything in
 * the kernel refers to it, and release it when nothing does.
 *
 * Chunks are created on demand and never removed: before 6.8, removing an inner map while a walk sleeps is not safe
 * (commit 876673364161, "bpf: Defer the free of inner map when necessary").
 */
#ifndef ALYS_KERNEL_CHUNKS_H
#define ALYS_KERNEL_CHUNKS_H

#include <stddef.h>
#include <stdint.h>

#include "rows.h"

#define CHUNK_NAME "alys_chunk" /* name of the map in the kernel */

struct extent {
	uint32_t chunk, off, n; /* words */
};

struct chunks {
	int outer;                              /* the map of maps, borrowed */
	struct alys_chunk *at[ALYS_MAX_CHUNKS]; /* mapped */
	int fds[ALYS_MAX_CHUNKS];               /* through which the kernel says how much memory they take */
	size_t max;                             /* limit on their number */
	size_t at_cnt;
	struct extent *free; /* by address; no two are adjacent */
	size_t free_cnt, free_cap;
};

/* The smallest free extent of at least n words, else the largest; NULL: all space is taken. */
const struct extent *chunks_room(const struct chunks *c, size_t n);
/* Takes the first n words of a free extent. */
struct extent chunks_take(struct chunks *c, const struct extent *from, uint32_t n);
/* 0 or -ENOMEM: then the space is leaked. */
int chunks_give(struct chunks *c, struct extent e);
/* Adds a chunk. -ENOSPC if the outer map is full. */
int chunks_grow(struct chunks *c);
uint32_t *chunks_words(const struct chunks *c, const struct extent *e);
void chunks_free(struct chunks *c);

#endif
