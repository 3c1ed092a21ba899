/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boehm/freelists: finds a thread's lists of free objects by their shape, for a collector without symbols. In: copied
 * words, a heap. Out: which words are heads of such lists.
 *
 *   rows of 25 words, one per kind (2 or 3): objects without pointers; with; of another kind; then one row for gcj's.
 *   word n of a row: a list of objects of n granules (0: of one), or a small number, which counts calls until there is one;
 *   word 0 of gcj's row: -1, by which the rows are found.
 */
#ifndef ALYS_BOEHM_FREELISTS_H
#define ALYS_BOEHM_FREELISTS_H

#include "boehm/heap.h"

struct freelists {
	size_t from, end; /* words; from = end = all of them: none */
};

/* The first ones at or after words[from]. */
struct freelists freelists_find(const struct boehm_heap *h, const uint64_t *words, size_t cnt, size_t from);

#endif
