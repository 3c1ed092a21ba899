/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boehm/freelists: where a thread's lists of free objects hang, told by their shape alone: for a collector whose variables have no
 * names. In: words that were copied, a heap. Out: which of them are heads of such lists.
 *
 *   rows of 25 words, one a kind (2 or 3): objects without pointers; with; of another kind; then one row for gcj's.
 *   word n of a row: a list of objects of n granules (0: of one), or a small number, which counts calls until there is one;
 *   word 0 of gcj's row: -1, by which the rows are found.
 */
#ifndef ALYS_BOEHM_FREELISTS_H
#define ALYS_BOEHM_FREELISTS_H

#include "boehm/heap.h"

struct freelists {
	size_t from, end; /* words; from = end = all of them: none */
};

/* The first ones that begin at words[from] or behind it. */
struct freelists freelists_find(const struct boehm_heap *h, const uint64_t *words, size_t cnt, size_t from);

#endif
