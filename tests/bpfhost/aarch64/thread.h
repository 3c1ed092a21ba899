/* SPDX-License-Identifier: Apache-2.0 */
/* The registers of the walked thread, as bpf_tracing.h reads them on aarch64. */
#ifndef ALYS_TESTS_BPFHOST_THREAD_H
#define ALYS_TESTS_BPFHOST_THREAD_H

#define HOST_REGS(x) ((const struct user_pt_regs *)(x))
#define PT_REGS_IP(x) (HOST_REGS(x)->pc)
#define PT_REGS_SP(x) (HOST_REGS(x)->sp)
#define PT_REGS_FP(x) (HOST_REGS(x)->regs[29])
#define PT_REGS_RET(x) (HOST_REGS(x)->regs[30])

static struct pt_regs *host_regs(uint64_t ip, uint64_t sp, uint64_t bp, uint64_t link)
{
	static struct user_pt_regs regs;
	regs.pc = ip;
	regs.sp = sp;
	regs.regs[29] = bp;
	regs.regs[30] = link;
	return (struct pt_regs *)&regs;
}

#endif
