/* SPDX-License-Identifier: Apache-2.0 */
/* glibc/free_lists: which chunks are free, by the lists that malloc keeps of them, as they were read with the chunks. */
#ifndef ALYS_GLIBC_FREE_LISTS_H
#define ALYS_GLIBC_FREE_LISTS_H

#include "glibc/malloc_chunks.h"

void glibc_check_caches(struct glibc_heap *h, const struct glibc_layout *l);
void glibc_check_fastbins(struct glibc_heap *h, const struct glibc_layout *l);
void glibc_check_bins(struct glibc_heap *h, const struct glibc_layout *l);

#endif
