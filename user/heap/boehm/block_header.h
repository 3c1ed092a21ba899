/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boehm/block_header: the collector's header of a block, read many at a time and checked one by one. The order of the fields
 * has not changed since 7.6; the offset of the marks has. Private to this module.
 *
 *   +0x10 block  +0x18 kind  +0x19 flags  +0x1a last_reclaimed (16 bits)  +0x20 size of an object
 *   +0x38 n_marks, +0x40 marks          or, without the map at +0x30, +0x30 n_marks, +0x38 marks
 */
#ifndef ALYS_BOEHM_BLOCK_HEADER_H
#define ALYS_BOEHM_BLOCK_HEADER_H

#include <stdbool.h>

#include "boehm/index.h"
#include "boehm/layout.h"

#define HEADER_SZ_MAX 0x148
#define HEADER_FIXED 0x38 /* bytes before the fields that differ */
#define HEADER_CHUNK 2048 /* headers read at a time */
#define GRANULE 16
#define GRANULES_OF_BLOCK 256

enum { /* flags */
       HEADER_UNMAPPED = 0x02,
       HEADER_FREE = 0x04,
};

struct header {
	uint64_t block, size, n_marks;
	uint32_t objects; /* in the block; 0 in a free block */
	uint64_t bytes;   /* of the block */
	uint16_t last_reclaimed;
	uint8_t kind, flags;
	const uint8_t *raw;
};

/* Bytes of a header that are read. */
size_t header_bytes(const struct layout *l);
/*
 * Reads cnt (up to HEADER_CHUNK) headers of `each` bytes, zeroes where one cannot be read. 0, -ESRCH, -EPERM, -ENOMEM.
 */
int headers_read(struct memory *m, const struct index_entry *e, size_t cnt, size_t each, uint8_t *out);
/* False: not a header of the block at e->block. l may be NULL: then n_marks is not read. */
bool header_parse(const uint8_t *raw, const struct index_entry *e, const struct layout *l, struct header *out);
/* Is the mark after the last object set, as in every block in use? */
bool header_has_sentinel(const struct header *h, const struct layout *l);
/* Marks of its objects, one byte each; returns the number set. */
uint32_t header_marks(const struct header *h, const struct layout *l, uint8_t *out);
static inline bool header_is_free(const struct header *h)
{
	return h->flags & HEADER_FREE;
}

#endif
