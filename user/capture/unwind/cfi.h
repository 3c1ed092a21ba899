/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind/cfi: runs call frame programs: the instructions of a CIE or FDE, for the two registers and the CFA that a
 * stack walk needs. Each state with its first address goes to a row writer.
 */
#ifndef ALYS_UNWIND_CFI_H
#define ALYS_UNWIND_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"
#include "rows.h"

#define CFI_REG_BP 6
#define CFI_REG_SP 7
#define CFI_REG_RA 16

enum cfi_cfa_kind { CFI_CFA_REG, CFI_CFA_DEREF, CFI_CFA_PLT, CFI_CFA_ODD };

struct cfi_cfa {
	uint8_t kind; /* enum cfi_cfa_kind */
	uint64_t reg;
	int64_t off, add; /* reg + off; deref: *(reg + off) + add; PLT: off = byte of the second push */
};

enum cfi_reg_kind { CFI_SAME, CFI_UNDEFINED, CFI_AT_CFA, CFI_AT_BP, CFI_AT_SP, CFI_ODD };

struct cfi_reg {
	uint8_t kind; /* enum cfi_reg_kind */
	int64_t off;
};

struct cfi_state {
	struct cfi_cfa cfa;
	struct cfi_reg bp, ra, sp;
};

/* The fields of a CIE that its FDEs share. */
struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint8_t ptr_enc; /* DW_EH_PE_* of addresses */
	bool signal;
	bool odd; /* a return address register or augmentation that rows cannot express */
	struct cfi_state init;
};

struct cfi_ptr_base {
	const uint8_t *bytes; /* the section's first byte */
	uint64_t vaddr;       /* and its address */
};

/* Reads an address in DW_EH_PE_* encoding; marks the cursor bad for encodings that linkers never use here. */
uint64_t cfi_pointer(struct cursor *c, uint8_t enc, const struct cfi_ptr_base *base);

typedef int (*cfi_emit_fn)(void *ctx, uint64_t pc, const struct cfi_state *s);

/*
 * Runs the program of [lo, hi); emit is called with ascending addresses. 0, a non-zero result of emit, or -EBADMSG.
 * With emit NULL it is a CIE's program, which must not advance: *state is the result.
 */
struct cfi_run {
	const struct cfi_cie *cie;
	const struct cfi_ptr_base *base;
	uint64_t lo, hi;
	cfi_emit_fn emit;
	void *ctx;
};
int cfi_run(const struct cfi_run *r, struct cursor program, struct cfi_state *state);

/* The row (without pc) for a state; specs that it needs are added to the writer. */
uint32_t cfi_row(const struct cfi_state *s, bool signal, uint32_t (*spec_row)(void *ctx, const struct alys_spec *), void *ctx);

#endif
