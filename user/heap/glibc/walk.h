/* SPDX-License-Identifier: Apache-2.0 */
/* glibc/walk: the chunks of an arena's memory, by their size words, and the caches of threads among them. */
#ifndef ALYS_GLIBC_WALK_H
#define ALYS_GLIBC_WALK_H

#include "glibc/malloc_chunks.h"

/*
 * All pieces of out, in order. Free chunks that are in no cache or fastbin are recognized by the word behind them:
 * CHUNK_FREE.
 */
int glibc_walk(struct memory *m, const struct glibc_layout *l, struct glibc_heap *out, struct err *err);

#endif
