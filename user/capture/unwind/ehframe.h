/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind/ehframe: parses an .eh_frame section: its CIEs, and its FDEs sorted by address. Runs the programs of CIEs
 * only.
 */
#ifndef ALYS_UNWIND_EHFRAME_H
#define ALYS_UNWIND_EHFRAME_H

#include "base/map.h"
#include "unwind/cfi.h"
#include "unwind/unwind.h"

struct eh_fde {
	uint64_t lo, hi; /* the code it describes */
	uint32_t cie;    /* index in cies */
	uint32_t program_sz;
	const uint8_t *program;
};

struct eh_frame {
	struct cfi_ptr_base base;
	const uint8_t *end;
	const struct cfi_machine *machine;
	struct cfi_cie *cies;
	size_t cies_cnt, cies_cap;
	struct map cie_at; /* offset in the section -> index */
	struct eh_fde *fdes;
	size_t fdes_cnt, fdes_cap;
	uint64_t outside; /* FDEs skipped because their code is not in [text_lo, text_hi) */
};

/* 0, -ENOMEM, or -EBADMSG with words in err. */
int eh_frame_read(struct eh_frame *f, const struct unwind_section *s, struct err *err);
/* The function that begins there, or NULL. */
const struct eh_fde *eh_fde_at(const struct eh_frame *f, uint64_t lo);
/* Where, from its CFA, this function saves a register of its caller; 0 = it does not. */
int64_t eh_saved_at(const struct eh_frame *f, const struct eh_fde *fde, uint8_t reg);
void eh_frame_free(struct eh_frame *f);

#endif
