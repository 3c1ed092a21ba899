/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boehm/words: a copy of the contents of a heap's objects, made in few large reads, so that a stopped program waits for
 * the copying only. Objects that may hold pointers are copied completely; of the others (and of blocks that could not
 * be read) only the first four bytes, where Crystal stores the type id.
 */
#ifndef ALYS_BOEHM_WORDS_H
#define ALYS_BOEHM_WORDS_H

#include "boehm/heap.h"

#define WORDS_NONE UINT64_MAX

struct words {
	uint8_t *bytes;
	uint64_t bytes_cnt;
	uint64_t *at;      /* for each block, offset in bytes; WORDS_NONE: pointer-free, not copied */
	uint32_t *first;   /* first four bytes of each object, in the order of the heap's marks */
	size_t unreadable; /* runs of blocks that were gone or unmapped: read as zero */
};

/* Kinds 0 and 3 hold no pointers; 1, 2 and kinds defined by the program may. */
static inline bool words_traced(uint8_t kind)
{
	return kind != HEAP_ATOMIC && kind != HEAP_ATOMIC_UNCOLLECTABLE;
}

/*
 * Allocates and touches all memory, so that nothing must be allocated while a program is stopped. -ENOMEM, -EFBIG: over
 * max bytes.
 */
int words_begin(struct words *w, const struct boehm_heap *h, uint64_t max);
/* 0, or -ESRCH, -EPERM, -ENOMEM, -ETIMEDOUT: CLOCK_MONOTONIC has passed deadline_ns (0 = never). */
int words_copy(struct words *w, struct memory *m, const struct boehm_heap *h, uint64_t deadline_ns);
void words_free(struct words *w);
/* CLOCK_MONOTONIC has passed deadline_ns; never when that is 0. */
bool words_late(uint64_t deadline_ns);

/* The eight-byte words of an object; NULL: it has none. *n of them. */
const uint64_t *words_of(const struct words *w, const struct boehm_heap *h, size_t block, uint32_t index, size_t *n);

#endif
