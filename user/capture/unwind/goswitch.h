/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind/goswitch: calls at which Go's runtime switches stacks: from a goroutine's to the thread's, to call C or parts
 * of the runtime (asmcgocall, systemstack, mcall), and back for calls from C (cgocallback), which come through crosscall2. Go has no
 * .eh_frame; its other code uses frame pointers. Private to this module.
 */
#ifndef ALYS_UNWIND_GOSWITCH_H
#define ALYS_UNWIND_GOSWITCH_H

#include "elf/elf.h"
#include "rows.h"

#define GO_SWITCHES 6

enum go_caller {
	GO_BY_SPEC,
	GO_BOTTOM, /* the call does not return, and has no caller */
	GO_LOST,   /* neither the stack nor the frame pointer leads to it */
};

struct go_switch {
	uint64_t ret; /* return address of the call */
	enum go_caller caller;
	struct alys_spec spec;
};

/* Fills out with ascending addresses and returns their number: 0 for files that are not Go's. */
size_t go_switches(const struct elf *e, struct go_switch out[GO_SWITCHES]);

/* A piece of the file. */
struct go_code {
	const uint8_t *bytes;
	uint64_t vaddr;
	size_t size;
};

/* How the twins find Go's runtime, which all is in one assembler file: bytes in asmcgocall, and how far behind the place that go_read takes. */
struct go_mark {
	const void *bytes;
	size_t size, behind;
};

extern const struct go_mark go_mark;

/* The code of crosscall2, which C calls; of no size if the file does not have it. */
struct go_code go_crosscall(const struct elf *e);

/* The switches of a file, of which c is the code around asmcgocall. That may be at `at`; 0: it is not. */
size_t go_read(const struct elf *e, const struct go_code *c, size_t at, struct go_switch out[GO_SWITCHES]);

#endif
