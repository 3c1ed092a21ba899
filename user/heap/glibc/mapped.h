/* SPDX-License-Identifier: Apache-2.0 */
/* glibc/mapped: large chunks, each in a mapping of its own. No list has them: they are recognized by their first words. */
#ifndef ALYS_GLIBC_MAPPED_H
#define ALYS_GLIBC_MAPPED_H

#include "glibc/malloc_chunks.h"

/* In anonymous memory outside of out's pieces; pages that were never used are not read. */
int glibc_mapped_read(struct memory *m, const struct space *s, const struct glibc_layout *l, struct glibc_heap *out);

#endif
