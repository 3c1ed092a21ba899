/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the registers of a probed thread hold: arguments by their number, results by the site's register. ALYS_REG_* are
 * the numbers of x0 to x30 here. The twin is in ../x86_64.
 */
#ifndef ALYS_REGISTERS_BPF_H
#define ALYS_REGISTERS_BPF_H

/* verifier: context fields must be read at constant offsets, see ../x86_64. */
#define REGISTER(ctx, n)                                                               \
	({                                                                             \
		__u64 value_ = ((const volatile struct user_pt_regs *)(ctx))->regs[n]; \
		asm volatile("/* x" #n " */" : "+r"(value_));                          \
		value_;                                                                \
	})

#define REGISTER_CASE(n) \
	case n: return REGISTER(ctx, n);

static __noinline __u64 register_at(struct pt_regs *ctx, __u32 reg)
{
	switch (reg) {
		REGISTER_CASE(1)
		REGISTER_CASE(2)
		REGISTER_CASE(3)
		REGISTER_CASE(4)
		REGISTER_CASE(5)
		REGISTER_CASE(6)
		REGISTER_CASE(7)
		REGISTER_CASE(8)
		REGISTER_CASE(9)
		REGISTER_CASE(10)
		REGISTER_CASE(11)
		REGISTER_CASE(12)
		REGISTER_CASE(13)
		REGISTER_CASE(14)
		REGISTER_CASE(15)
		REGISTER_CASE(16)
		REGISTER_CASE(17)
		REGISTER_CASE(18)
		REGISTER_CASE(19)
		REGISTER_CASE(20)
		REGISTER_CASE(21)
		REGISTER_CASE(22)
		REGISTER_CASE(23)
		REGISTER_CASE(24)
		REGISTER_CASE(25)
		REGISTER_CASE(26)
		REGISTER_CASE(27)
		REGISTER_CASE(28)
		REGISTER_CASE(29)
		REGISTER_CASE(30)
	default: return REGISTER(ctx, 0);
	}
}

/* Argument n, or what register n holds behind the entry (insn_machine.readable). */
static __always_inline __u64 argument(struct pt_regs *ctx, __u32 n)
{
	switch (n) {
	case 0: return REGISTER(ctx, 0);
	case 1: return REGISTER(ctx, 1);
	case 2: return REGISTER(ctx, 2);
	case 3: return REGISTER(ctx, 3);
	case 4: return REGISTER(ctx, 4);
	default: return register_at(ctx, n % ALYS_ARG_IN(0));
	}
}

static __always_inline __u64 register_of(struct pt_regs *ctx, const struct alys_site *site)
{
	return register_at(ctx, site->reg);
}

#endif
