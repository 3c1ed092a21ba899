/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind/goswitch: calls at which Go's runtime leaves one stack for another: a goroutine's for the
 * thread's, to call C or parts of its own (asmcgocall, systemstack, mcall), and back for what C
 * calls (cgocallback). Go writes no .eh_frame; its other code keeps frame pointers. Not for other modules.
 */
#ifndef ALYS_UNWIND_GOSWITCH_H
#define ALYS_UNWIND_GOSWITCH_H

#include "elf/elf.h"
#include "rows.h"

#define GO_SWITCHES 5

struct go_switch {
	uint64_t ret; /* where the call returns to */
	bool bottom;  /* it never does, and has no caller */
	struct alys_spec spec;
};

/* Fills out with ascending addresses and returns how many there are: 0 in a file that is not Go's. */
size_t go_switches(const struct elf *e, struct go_switch out[GO_SWITCHES]);

#endif
