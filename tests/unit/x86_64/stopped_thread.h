/* SPDX-License-Identifier: Apache-2.0 */
/* For test_probe_work.c: breakpoints, and the registers of a thread that stands at one. The twin is in ../aarch64. */
#ifndef ALYS_UNIT_STOPPED_THREAD_H
#define ALYS_UNIT_STOPPED_THREAD_H

#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>

static const uint8_t breakpoint[] = { 0xcc };
/* What it is executed by: the thread stops behind it. */
#define BREAKPOINT_PASSED sizeof(breakpoint)

static uint64_t ip_of(const struct user_regs_struct *r)
{
	return r->rip;
}

static void set_ip(struct user_regs_struct *r, uint64_t ip)
{
	r->rip = ip;
}

static uint64_t sp_of(const struct user_regs_struct *r)
{
	return r->rsp;
}

static uint64_t argument(const struct user_regs_struct *r, unsigned int n)
{
	const unsigned long long args[] = { r->rdi, r->rsi, r->rdx, r->rcx, r->r8, r->r9 };
	return args[n];
}

static uint64_t result_in(const struct user_regs_struct *r, unsigned int reg)
{
	const unsigned long long regs[] = { r->rax, r->rbx, r->rcx, r->rdx, r->rsi, r->rdi, r->rbp, r->r8,
					    r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15 };
	return regs[reg];
}

static uint64_t caller_of(pid_t pid, const struct user_regs_struct *r, uint64_t cfa)
{
	(void)r;
	return (uint64_t)ptrace(PTRACE_PEEKDATA, pid, cfa - 8, NULL);
}

#endif
