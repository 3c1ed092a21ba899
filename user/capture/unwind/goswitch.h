/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind/goswitch: calls at which Go's runtime switches stacks: from a goroutine's to the thread's, to call C or parts
 * of the runtime (asmcgocall, systemstack, mcall), and back for calls from C (cgocallback). Go has no .eh_frame; its
 * other code uses frame pointers. Private to this module.
 */
#ifndef ALYS_UNWIND_GOSWITCH_H
#define ALYS_UNWIND_GOSWITCH_H

#include "elf/elf.h"
#include "rows.h"

#define GO_SWITCHES 5

struct go_switch {
	uint64_t ret; /* return address of the call */
	bool bottom;  /* does not return, and has no caller */
	struct alys_spec spec;
};

/* Fills out with ascending addresses and returns their number: 0 for files that are not Go's. */
size_t go_switches(const struct elf *e, struct go_switch out[GO_SWITCHES]);

#endif
