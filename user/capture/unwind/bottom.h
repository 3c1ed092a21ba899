/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind/bottom: code that nothing called, where stacks end although their unwind rows are missing (the
 * entry points of the loader and of musl's programs) or lead on (what glibc puts below makecontext's
 * functions). Not for other modules.
 */
#ifndef ALYS_UNWIND_BOTTOM_H
#define ALYS_UNWIND_BOTTOM_H

#include "elf/elf.h"

struct bottom {
	const struct elf *e;
	uint64_t entry;
	bool contexts; /* the file has makecontext */
};

void bottom_find(const struct elf *e, struct bottom *out);
/* Is the function from lo to hi the one that makecontext lets others return to? */
bool bottom_is_context(const struct bottom *b, uint64_t lo, uint64_t hi);

#endif
