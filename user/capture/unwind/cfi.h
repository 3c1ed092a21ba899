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

enum cfi_cfa_kind { CFI_CFA_BP, CFI_CFA_SP, CFI_CFA_PLT, CFI_CFA_ODD };

struct cfi_cfa {
	uint8_t kind; /* enum cfi_cfa_kind: what off counts from */
	bool deref;
	uint8_t reg;      /* ODD: DWARF's number of the register that off counts from, 0 = none or an unknown one */
	int64_t off, add; /* base + off; deref: *(base + off) + add; PLT: off = byte of the second push */
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

typedef uint32_t (*cfi_spec_fn)(void *ctx, const struct alys_spec *);

/* What of call frame information, and of the rows made from it, differs between machines. */
struct cfi_machine {
	uint16_t elf;                  /* EM_* */
	uint8_t bp, sp, ra;            /* DWARF's numbers of the registers */
	uint8_t signs;                 /* the instruction that says that the return address is signed or no longer; 0 = none */
	const char *augmentations;     /* letters without data that change nothing here */
	const char *bp_name, *sp_name; /* in dumps */
	/* Of a direct call, its size and where it leads, 0 = it is none; may be NULL. Is given at least call_sz bytes. */
	uint8_t call_sz;
	uint64_t (*call_target)(const uint8_t *code, uint64_t pc);
	/* An expression for the CFA that the linker writes for its PLT; may be NULL. */
	bool (*is_plt)(struct cursor expr, int64_t *from);
	/* The row (without pc) for a state; specs that it needs are added to the writer. */
	uint32_t (*row)(const struct cfi_state *s, bool signal, cfi_spec_fn spec_row, void *ctx);
	/* Of a plain row: where the return address is, as in struct alys_spec. */
	int32_t (*plain_ra)(uint32_t slot);
};

extern const struct cfi_machine cfi_amd64, cfi_arm64;
/* NULL: rows of no such machine are known. */
const struct cfi_machine *cfi_machine_of(uint64_t elf);

/* The fields of a CIE that its FDEs share. */
struct cfi_cie {
	const struct cfi_machine *machine;
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

/* Words off / 8 and slot as in a plain row; false if they do not fit. */
bool cfi_plain(const struct cfi_state *s, uint32_t *row);
/* Only for a CFA of kind BP or SP. False if an offset is too large. */
bool cfi_spec(const struct cfi_state *s, int32_t ra_off, struct alys_spec *out);

static inline uint32_t cfi_unsupported(uint32_t why)
{
	return ALYS_ROW_SPECIAL_OF(ALYS_ROW_UNSUPPORTED, why);
}

#endif
