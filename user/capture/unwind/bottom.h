/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind/bottom: code without a caller, where stacks end although unwind rows are missing (the entry points of the
 * loader and of musl's programs) or continue (glibc's return function for makecontext); and code that no unwind
 * information describes although it has a caller. Private to this module.
 */
#ifndef ALYS_UNWIND_BOTTOM_H
#define ALYS_UNWIND_BOTTOM_H

#include "elf/elf.h"

struct bottom {
	const struct elf *e;
	uint64_t entry;
	bool contexts;          /* the file has makecontext */
	uint64_t signal_return; /* code to which signal handlers return, not described by unwind information; 0 = none */
	/* The PLT, not described either; its first entry, up to `stubs`, has pushed the return address from `pushed` on. 0 = none */
	struct bottom_plt {
		uint64_t lo, pushed, stubs, hi;
	} plt;
};

void bottom_find(const struct elf *e, struct bottom *out);
/* Is [lo, hi) the function to which functions started by makecontext return? */
bool bottom_is_context(const struct bottom *b, uint64_t lo, uint64_t hi);
/* Finds signal_return. */
uint64_t bottom_signal_return(const struct elf *e);
/* Finds plt. */
struct bottom_plt bottom_plt(const struct elf *e);

#endif
