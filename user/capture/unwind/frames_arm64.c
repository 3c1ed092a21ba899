/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind/cfi of aarch64: see cfi.h. Registers and instructions from "DWARF for the Arm 64-bit Architecture" (AADWARF64),
 * 4.1 and 5.1. A call leaves the return address in x30; functions that call others save it, mostly beside x29.
 */
#include <dwarf.h>
#include <elf.h>

#include "unwind/cfi.h"

#define NEGATE_RA_STATE 0x2d /* elsewhere DW_CFA_GNU_window_save */

/* Linux up to 5.7 described its frame: x29 points to the record of x29 and x30 in it. */
static bool is_kernel_frame(const struct cfi_state *s)
{
	return s->cfa.kind == CFI_CFA_BP && !s->cfa.deref && !s->cfa.off && s->ra.kind == CFI_AT_CFA && s->ra.off == 8;
}

static bool is_record(const struct cfi_state *s)
{
	return s->bp.kind == CFI_AT_CFA && s->ra.kind == CFI_AT_CFA && s->ra.off == s->bp.off + 8;
}

static bool is_leaf(const struct cfi_state *s)
{
	return s->bp.kind == CFI_SAME && s->ra.kind == CFI_SAME;
}

/* Is the return address said to lie above the CFA, in the pair there? Not below sp, where it may be overwritten at any time. */
static bool is_pushed_before(const struct cfi_state *s)
{
	return s->ra.kind == CFI_AT_CFA && (s->ra.off == 0 || s->ra.off == 8) && s->cfa.kind == CFI_CFA_SP && !s->cfa.deref &&
	       s->cfa.off >= 0;
}

/*
 * glibc's _dl_runtime_resolve: a stub in the PLT has pushed the return address, and the CFA is said to be below it. But the CFA is the
 * caller's sp, and what is pushed after a call lies below that.
 */
static struct cfi_state above_return(const struct cfi_state *s)
{
	const int64_t pair = 16;
	struct cfi_state up = *s;
	up.cfa.off += pair;
	up.ra.off -= pair;
	if (s->bp.kind == CFI_AT_CFA)
		up.bp.off -= pair;
	return up;
}

static uint32_t spec_of(const struct cfi_state *s, cfi_spec_fn spec_row, void *ctx)
{
	struct alys_spec spec;
	int64_t ra = s->ra.kind == CFI_AT_CFA ? s->ra.off : 0;
	if ((s->ra.kind != CFI_SAME && s->ra.kind != CFI_AT_CFA) || ra > 0 || ra != (int32_t)ra ||
	    (s->ra.kind == CFI_AT_CFA && !ra))
		return cfi_unsupported(ALYS_ROW_WHY_RA);
	return cfi_spec(s, (int32_t)ra, &spec) ? spec_row(ctx, &spec) : cfi_unsupported(ALYS_ROW_WHY_CFA);
}

static uint32_t row(const struct cfi_state *s, bool signal, cfi_spec_fn spec_row, void *ctx)
{
	uint32_t plain;
	if (s->ra.kind == CFI_UNDEFINED)
		return ALYS_ROW_SPECIAL_OF(ALYS_ROW_END, 0);
	if (signal && is_kernel_frame(s))
		return ALYS_ROW_SPECIAL_OF(ALYS_ROW_SIGNAL, 0);
	if (s->sp.kind != CFI_SAME)
		return cfi_unsupported(ALYS_ROW_WHY_SP);
	if (s->cfa.kind != CFI_CFA_BP && s->cfa.kind != CFI_CFA_SP)
		return cfi_unsupported(ALYS_ROW_WHY_CFA);
	if (s->bp.kind == CFI_ODD)
		return cfi_unsupported(ALYS_ROW_WHY_BP);
	if ((is_record(s) || is_leaf(s)) && cfi_plain(s, &plain))
		return plain;
	struct cfi_state known = is_pushed_before(s) ? above_return(s) : *s;
	return spec_of(&known, spec_row, ctx);
}

static int32_t plain_ra(uint32_t slot)
{
	return -8 * (int32_t)slot;
}

/* B: return addresses are signed with the second key. G: what the stack's memory is tagged with (MTE). */
const struct cfi_machine cfi_arm64 = {
	.elf = EM_AARCH64,
	.bp = 29,
	.sp = 31,
	.ra = 30,
	.signs = NEGATE_RA_STATE,
	.augmentations = "BG",
	.bp_name = "x29",
	.sp_name = "sp",
	.row = row,
	.plain_ra = plain_ra,
};
