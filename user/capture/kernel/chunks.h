/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel/chunks: room in the walk's chunk maps (bpf/rows.h), in words. Who takes room writes into it
 * before anything in the kernel names it, and gives it back when nothing does any more.
 *
 * Chunks are made when they are needed and stay: to take an inner map away from under a walk that
 * sleeps is not safe before 6.8 (commit 876673364161, "bpf: Defer the free of inner map when necessary").
 */
#ifndef ALYS_KERNEL_CHUNKS_H
#define ALYS_KERNEL_CHUNKS_H

#include <stddef.h>
#include <stdint.h>

#include "rows.h"

#define CHUNK_NAME "alys_chunk" /* of its map in the kernel */

struct extent {
	uint32_t chunk, off, n; /* words */
};

struct chunks {
	int outer;                              /* the map of maps, borrowed */
	struct alys_chunk *at[ALYS_MAX_CHUNKS]; /* mapped */
	int fds[ALYS_MAX_CHUNKS];               /* by which the kernel tells what they take */
	size_t max;                             /* that there may be */
	size_t at_cnt;
	struct extent *free; /* by place; none touches the next */
	size_t free_cnt, free_cap;
};

/* The smallest free extent of n words or more, or else the biggest; NULL when all is taken. */
const struct extent *chunks_room(const struct chunks *c, size_t n);
/* Takes the first n words of a free extent. */
struct extent chunks_take(struct chunks *c, const struct extent *from, uint32_t n);
/* 0 or -ENOMEM: then the room is lost. */
int chunks_give(struct chunks *c, struct extent e);
/* One more chunk. -ENOSPC when there are as many as the outer map takes. */
int chunks_grow(struct chunks *c);
uint32_t *chunks_words(const struct chunks *c, const struct extent *e);
void chunks_free(struct chunks *c);

#endif
