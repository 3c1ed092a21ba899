/* SPDX-License-Identifier: Apache-2.0 */
/* The registers of a snapshot on x86-64, by DWARF's numbers. */
#ifndef ALYS_TESTS_BPF_SNAP_REGS_H
#define ALYS_TESTS_BPF_SNAP_REGS_H

#define SNAP_FP 6
#define SNAP_SP 7
#define SNAP_IP 16 /* the return address column */
#define SNAP_REGS 17
/* From sp in a signal frame to the registers in this order; 0 = libdw knows such frames. */
#define SNAP_SIGNAL_REGS 0
#define SNAP_CFA_OFF 8 /* from sp at a function's entry */
#define SNAP_LIBC "/lib/x86_64-linux-gnu/libc.so.6"

#define SNAP_COPY_REGS(s, ctx)              \
	do {                                \
		(s)->regs[0] = (ctx)->ax;   \
		(s)->regs[1] = (ctx)->dx;   \
		(s)->regs[2] = (ctx)->cx;   \
		(s)->regs[3] = (ctx)->bx;   \
		(s)->regs[4] = (ctx)->si;   \
		(s)->regs[5] = (ctx)->di;   \
		(s)->regs[6] = (ctx)->bp;   \
		(s)->regs[7] = (ctx)->sp;   \
		(s)->regs[8] = (ctx)->r8;   \
		(s)->regs[9] = (ctx)->r9;   \
		(s)->regs[10] = (ctx)->r10; \
		(s)->regs[11] = (ctx)->r11; \
		(s)->regs[12] = (ctx)->r12; \
		(s)->regs[13] = (ctx)->r13; \
		(s)->regs[14] = (ctx)->r14; \
		(s)->regs[15] = (ctx)->r15; \
		(s)->regs[16] = (ctx)->ip;  \
	} while (0)

#endif
