/* SPDX-License-Identifier: GPL-2.0-only */
/* What the registers of a probed thread hold: arguments by their number, results by the site's register. The twin is in ../aarch64. */
#ifndef ALYS_REGISTERS_BPF_H
#define ALYS_REGISTERS_BPF_H

/*
 * verifier: context fields must be read at constant offsets; without the asm, clang would join the
 * branches of a switch into one read at a computed offset.
 */
#define REGISTER(ctx, name)                                     \
	({                                                      \
		__u64 value_ = (ctx)->name;                     \
		asm volatile("/* " #name " */" : "+r"(value_)); \
		value_;                                         \
	})

static __always_inline __u64 register_at(struct pt_regs *ctx, __u32 reg)
{
	switch (reg) {
	case ALYS_REG_RBX: return REGISTER(ctx, bx);
	case ALYS_REG_RCX: return REGISTER(ctx, cx);
	case ALYS_REG_RDX: return REGISTER(ctx, dx);
	case ALYS_REG_RSI: return REGISTER(ctx, si);
	case ALYS_REG_RDI: return REGISTER(ctx, di);
	case ALYS_REG_RBP: return REGISTER(ctx, bp);
	case ALYS_REG_R8: return REGISTER(ctx, r8);
	case ALYS_REG_R8 + 1: return REGISTER(ctx, r9);
	case ALYS_REG_R8 + 2: return REGISTER(ctx, r10);
	case ALYS_REG_R8 + 3: return REGISTER(ctx, r11);
	case ALYS_REG_R8 + 4: return REGISTER(ctx, r12);
	case ALYS_REG_R8 + 5: return REGISTER(ctx, r13);
	case ALYS_REG_R8 + 6: return REGISTER(ctx, r14);
	case ALYS_REG_R8 + 7: return REGISTER(ctx, r15);
	default: return REGISTER(ctx, ax);
	}
}

static __always_inline __u64 argument(struct pt_regs *ctx, __u32 n)
{
	switch (n) {
	case 0: return REGISTER(ctx, di);
	case 1: return REGISTER(ctx, si);
	case 2: return REGISTER(ctx, dx);
	case 3: return REGISTER(ctx, cx);
	case 4: return REGISTER(ctx, r8);
	default: return register_at(ctx, n - ALYS_ARG_IN(0));
	}
}

static __always_inline __u64 register_of(struct pt_regs *ctx, const struct alys_site *site)
{
	return register_at(ctx, site->reg);
}

#endif
