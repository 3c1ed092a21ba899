/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc/arena_layout: where the C library keeps its arenas. main_arena has no symbol, so it is found by its shape: bins
 * that are empty point to themselves, and the list of arenas leads back to it. In: the library's file and its data in a
 * process.
 */
#ifndef ALYS_GLIBC_ARENA_LAYOUT_H
#define ALYS_GLIBC_ARENA_LAYOUT_H

#include "base/err.h"
#include "boehm/memory.h"
#include "boehm/space.h"
#include "elf/elf.h"

#define GLIBC_FASTBINS 10
#define GLIBC_BINS 127 /* pairs of words */
#define GLIBC_ARENAS_MAX 8192
#define GLIBC_OLDEST 26 /* of 2.x */
#define GLIBC_NEWEST 41
#define GLIBC_UNNAMED 32 /* or later */

struct glibc_layout {
	uint64_t main_arena;
	uint64_t mapped_bytes; /* where the sum of mmapped chunks stands; 0 = not found */
	uint32_t bins;         /* in an arena; all else lies at a fixed distance from it */
	uint32_t version;      /* 36 is 2.36 */
};

/* Offsets in struct malloc_state, of x86-64. */
#define ARENA_FASTBINS(l) ((l)->bins - 0x60)
#define ARENA_TOP(l) ((l)->bins - 0x10)
#define ARENA_NEXT(l) ((l)->bins + 0x800)
#define ARENA_SYSTEM(l) ((l)->bins + 0x818)
#define ARENA_SIZE(l) ((l)->bins + 0x828)
#define ARENA_SIZE_MAX 0x898

/*
 * The minor version that the file's text names ("GNU C Library ... version 2.36"); GLIBC_UNNAMED: it
 * names none, as programs that the library is linked into; 0: it is not glibc.
 */
uint32_t glibc_version(const struct elf *e);
/* -ENOTSUP: not found, or a version whose layout is unknown; -ENODATA: malloc was not called yet; -ESRCH, -EPERM. */
int glibc_layout_find(struct memory *m, const struct space *s, const struct space_region *file, uint32_t version,
		      struct glibc_layout *out, struct err *err);

#endif
