/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind/section: where a file keeps its .eh_frame. In: an opened ELF file. Out: the bytes, and the
 * code that they may describe. Knows nothing of what stands in them but where the last entry ends.
 */
#ifndef ALYS_UNWIND_SECTION_H
#define ALYS_UNWIND_SECTION_H

#include "unwind/unwind.h"

/* The biggest programs have some 200 MB of code. More is a damaged file, and memory. */
#define SECTION_TEXT_MAX (1ull << 30)

/* 0; -ENODATA without .eh_frame, -ENOTSUP when there is .debug_frame instead. */
int section_find(const struct elf *e, struct unwind_section *s, struct err *err);

#endif
