/* SPDX-License-Identifier: Apache-2.0 */
/* glibc/arena: the arenas of a process, and the memory that each of them has. */
#ifndef ALYS_GLIBC_ARENA_H
#define ALYS_GLIBC_ARENA_H

#include "glibc/malloc_chunks.h"

/* Fills out->arenas and out->pieces, by address. As glibc_heap_read. */
int glibc_arenas_read(struct memory *m, const struct space *s, const struct glibc_layout *l, struct glibc_heap *out,
		      struct err *err);

#endif
