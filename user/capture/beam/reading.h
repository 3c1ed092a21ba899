/* SPDX-License-Identifier: Apache-2.0 */
/* beam/reading: the instructions of one function, one after the other. Private to this module. */
#ifndef ALYS_BEAM_READING_H
#define ALYS_BEAM_READING_H

#include "code/decode.h"
#include "code/funcs.h"

/* Where the code is read. */
struct reading {
	const struct funcs *f;
	uint64_t at, end;
	const uint8_t *bytes; /* of the instruction read last */
	size_t left;
	struct insn in;
	struct insn_known known; /* before it */
};

/* Borrows f. */
struct reading reading_of(const struct funcs *f, uint64_t vaddr);
/* False at the end, and at what is no instruction. */
bool reading_next(struct reading *r);
/* [base + disp], or, without a base, disp. The base may come from a word of the file. 0: not known. */
uint64_t reading_address(const struct reading *r, int8_t base, int64_t disp);
/* The register that becomes a copy of one of these by a move. */
insn_regs reading_copy_of(const struct insn_move *m, insn_regs of);

#endif
