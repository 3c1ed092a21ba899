/* SPDX-License-Identifier: Apache-2.0 */
/* The registers of the walked thread, as bpf_tracing.h reads them on x86-64. */
#ifndef ALYS_TESTS_BPFHOST_THREAD_H
#define ALYS_TESTS_BPFHOST_THREAD_H

#define PT_REGS_IP(x) ((x)->ip)
#define PT_REGS_SP(x) ((x)->sp)
#define PT_REGS_FP(x) ((x)->bp)

static struct pt_regs *host_regs(uint64_t ip, uint64_t sp, uint64_t bp, uint64_t link)
{
	static struct pt_regs regs;
	(void)link;
	regs.ip = ip;
	regs.sp = sp;
	regs.bp = bp;
	return &regs;
}

#endif
