/* SPDX-License-Identifier: Apache-2.0 */
/* The registers of a snapshot on aarch64, by DWARF's numbers; behind them the pc. */
#ifndef ALYS_TESTS_BPF_SNAP_REGS_H
#define ALYS_TESTS_BPF_SNAP_REGS_H

#define SNAP_FP 29
#define SNAP_SP 31
#define SNAP_IP 32
#define SNAP_REGS 33
/* From sp in a signal frame to the registers in this order; 0 = libdw knows such frames. */
#define SNAP_SIGNAL_REGS 312
#define SNAP_CFA_OFF 0 /* from sp at a function's entry */
#define SNAP_LIBC "/lib/aarch64-linux-gnu/libc.so.6"

#define SNAP_COPY_REGS(s, ctx)                                                       \
	do {                                                                         \
		const volatile struct user_pt_regs *regs_ = (const void *)(ctx);     \
		_Pragma("unroll") for (int i_ = 0; i_ < 31; i_++)                    \
			(s)->regs[i_] = regs_->regs[i_];                             \
		(s)->regs[SNAP_SP] = regs_->sp;                                      \
		(s)->regs[SNAP_IP] = regs_->pc;                                      \
	} while (0)

#endif
