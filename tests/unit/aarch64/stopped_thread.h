/* SPDX-License-Identifier: Apache-2.0 */
/* For test_probe_work.c: breakpoints, and the registers of a thread that stands at one. The twin is in ../x86_64. */
#ifndef ALYS_UNIT_STOPPED_THREAD_H
#define ALYS_UNIT_STOPPED_THREAD_H

#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

static const uint8_t breakpoint[] = { 0x00, 0x00, 0x20, 0xd4 }; /* brk #0 */
#define BREAKPOINT_PASSED 0

static uint64_t ip_of(const struct user_regs_struct *r)
{
	return r->pc;
}

static void set_ip(struct user_regs_struct *r, uint64_t ip)
{
	r->pc = ip;
}

static uint64_t sp_of(const struct user_regs_struct *r)
{
	return r->sp;
}

/* Behind the entry, too, where it is a register's number. */
static uint64_t argument(const struct user_regs_struct *r, unsigned int n)
{
	return r->regs[n];
}

static uint64_t result_in(const struct user_regs_struct *r, unsigned int reg)
{
	return r->regs[reg];
}

static uint64_t caller_of(pid_t pid, const struct user_regs_struct *r, uint64_t cfa)
{
	(void)pid, (void)cfa;
	return r->regs[30];
}

#endif
