/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helper/mallocfill: the child (child.h) that verifies how we read a malloc heap: it allocates and frees blocks of many
 * sizes with the C library's malloc, reports what the library says about them, and then waits so that its memory can be
 * read from outside.
 */
#ifndef ALYS_HELPER_MALLOCFILL_H
#define ALYS_HELPER_MALLOCFILL_H

#include <stdint.h>

#define MALLOCFILL_MAX 4096

struct mallocfill_block {
	uint64_t addr;
	uint64_t usable; /* malloc_usable_size; 0 = it was freed, and nothing was allocated there since */
};

/* Header of the report: what mallinfo2 or mallinfo says of the main arena. */
struct mallocfill_truth {
	uint64_t blocks; /* that follow */
	uint64_t arena, used, free, fastbins, top, mapped, mapped_cnt;
};

/* The child's main; returns its exit status. */
int mallocfill_main(void);

#endif
