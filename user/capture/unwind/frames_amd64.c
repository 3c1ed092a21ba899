/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/cfi of x86-64: see cfi.h. Registers from the psABI, figure 3.36. */
#include <dwarf.h>
#include <elf.h>
#include <string.h>

#include "unwind/cfi.h"

#define RA_AT -8 /* from the CFA: where every call puts it */

/* What ld writes for the PLT: rsp + 8 + ((rip & 15) >= N) * 8. */
static bool is_plt(struct cursor c, int64_t *from)
{
	const uint8_t *b = cursor_bytes(&c, 11);
	if (!b || cursor_left(&c))
		return false;
	if (b[0] != DW_OP_breg7 || b[1] != 8 || b[2] != DW_OP_breg16 || b[3] != 0 || b[4] != DW_OP_lit15 || b[5] != DW_OP_and ||
	    b[6] < DW_OP_lit0 || b[6] > DW_OP_lit15 || b[7] != DW_OP_ge || b[8] != DW_OP_lit3 || b[9] != DW_OP_shl ||
	    b[10] != DW_OP_plus)
		return false;
	*from = b[6] - DW_OP_lit0;
	return true;
}

/* glibc describes the kernel's frame: CFA = the interrupted rsp, in the ucontext at rsp + 160. */
static bool is_kernel_frame(const struct cfi_state *s)
{
	return s->cfa.kind == CFI_CFA_SP && s->cfa.deref && s->cfa.off == 160 && s->ra.kind == CFI_AT_SP && s->ra.off == 168 &&
	       s->bp.kind == CFI_AT_SP && s->bp.off == 120;
}

static uint32_t row(const struct cfi_state *s, bool signal, cfi_spec_fn spec_row, void *ctx)
{
	struct alys_spec spec;
	uint32_t plain;
	if (s->ra.kind == CFI_UNDEFINED)
		return ALYS_ROW_SPECIAL_OF(ALYS_ROW_END, 0);
	if (signal && is_kernel_frame(s))
		return ALYS_ROW_SPECIAL_OF(ALYS_ROW_SIGNAL, 0);
	if (s->ra.kind != CFI_AT_CFA || s->ra.off != RA_AT)
		return cfi_unsupported(ALYS_ROW_WHY_RA);
	if (s->sp.kind != CFI_SAME)
		return cfi_unsupported(ALYS_ROW_WHY_SP);
	if (s->cfa.kind == CFI_CFA_PLT)
		return ALYS_ROW_SPECIAL_OF(ALYS_ROW_PLT, s->cfa.off);
	if (s->cfa.kind == CFI_CFA_ODD)
		return cfi_unsupported(ALYS_ROW_WHY_CFA);
	if (s->bp.kind == CFI_ODD)
		return cfi_unsupported(ALYS_ROW_WHY_BP);
	/* A frame of no bytes has no room for the return address: left to the walk, which refuses it. */
	if (s->cfa.off && cfi_plain(s, &plain))
		return plain;
	return cfi_spec(s, RA_AT, &spec) ? spec_row(ctx, &spec) : cfi_unsupported(ALYS_ROW_WHY_CFA);
}

#define CALL_SZ 5

static uint64_t call_target(const uint8_t *code, uint64_t pc)
{
	int32_t far;
	memcpy(&far, code + 1, sizeof(far));
	return code[0] == 0xe8 ? pc + CALL_SZ + (uint64_t)(int64_t)far : 0;
}

static int32_t plain_ra(uint32_t slot)
{
	(void)slot;
	return RA_AT;
}

const struct cfi_machine cfi_amd64 = {
	.elf = EM_X86_64,
	.bp = 6,
	.sp = 7,
	.ra = 16,
	.augmentations = "",
	.call_sz = CALL_SZ,
	.call_target = call_target,
	.bp_name = "rbp",
	.sp_name = "rsp",
	.is_plt = is_plt,
	.row = row,
	.plain_ra = plain_ra,
};
