/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marking/heapset: a set of heap objects, as bitmaps per block with one bit for every 16 bytes: a gigabyte of small
 * objects takes some ten megabytes. Members may have a tag; those without take no memory for it.
 */
#ifndef ALYS_MARKING_HEAPSET_H
#define ALYS_MARKING_HEAPSET_H

#include "base/map.h"
#include "boehm/heap.h"

#define HEAPSET_GRANULES (BOEHM_BLOCK / 16)

struct heapset_block {
	uint64_t addr, size; /* of the block; object size as rounded up by the collector */
	uint64_t bits[HEAPSET_GRANULES / 64];
	uint16_t *tags; /* by index of the object in its block; NULL: all 0 */
	uint16_t members;
	uint8_t kind;
};

/* A zeroed struct is an empty set. */
struct heapset {
	struct map places; /* block address -> index in blocks, + 1 */
	struct heapset_block *blocks;
	size_t blocks_cnt, blocks_cap;
	uint64_t count, bytes;
};

/* An object that starts there; removes members of a former block with other objects. -ENOMEM: not added. */
int heapset_put(struct heapset *s, const struct heap_object *o, uint16_t tag);
/* Of a member, 0 = not a member. */
uint64_t heapset_size(const struct heapset *s, uint64_t addr);
/* Its size; 0 = it was not a member. */
uint64_t heapset_take(struct heapset *s, uint64_t addr);
/* Removes members that are no longer marked, or whose block holds other objects now. */
void heapset_keep_marked(struct heapset *s, const struct boehm_heap *h);
/* Iterates all members: for (struct heapset_at at = { 0 }; heapset_next(s, &at);) */
struct heapset_at {
	size_t block, granule; /* the next one's */
	uint64_t addr;
	uint16_t tag;
	const struct heapset_block *of;
};
bool heapset_next(const struct heapset *s, struct heapset_at *at);
/* The next member that is in `others`, too. */
bool heapset_next_common(const struct heapset *s, const struct heapset *others, struct heapset_at *at);
struct heapset_sum {
	uint64_t count, bytes;
};
struct heapset_sum heapset_common(const struct heapset *s, const struct heapset *others);
/* Removes members that are in neither a nor b. */
void heapset_keep_common(struct heapset *s, const struct heapset *a, const struct heapset *b);
/*
 * A block as another set has it, tags borrowed, which that set's process may have made up: -EBADMSG when no set has such a
 * one, or this has it already; -ENOMEM.
 */
int heapset_adopt(struct heapset *s, const struct heapset_block *b);
/* How many tags a block has that has any. */
size_t heapset_tags(const struct heapset_block *b);
/* -ENOMEM: *to is an empty set. */
int heapset_copy(struct heapset *to, const struct heapset *from);
void heapset_free(struct heapset *s);

#endif
