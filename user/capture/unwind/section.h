/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind/section: finds a file's .eh_frame. In: an open ELF file. Out: the bytes, and the range of code that they may
 * describe. Parses only enough to find the end of the last entry.
 */
#ifndef ALYS_UNWIND_SECTION_H
#define ALYS_UNWIND_SECTION_H

#include "unwind/unwind.h"

/* The largest programs have about 200 MB of code. More means a damaged file, and wasted memory. */
#define SECTION_TEXT_MAX (1ull << 30)

/* 0; -ENODATA without .eh_frame, -ENOTSUP if there is only .debug_frame. */
int section_find(const struct elf *e, struct unwind_section *s, struct err *err);

#endif
