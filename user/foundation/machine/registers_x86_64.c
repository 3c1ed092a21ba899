/* SPDX-License-Identifier: Apache-2.0 */
/* machine/registers of x86-64: see registers.h. System V psABI, A.2.1: a call's number is in rax, arguments in rdi to r9. */
#include "machine/registers.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

int registers_read(uint32_t tid, struct registers *r)
{
	struct user_regs_struct u;
	struct iovec to = { .iov_base = &u, .iov_len = sizeof(u) };
	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &to))
		return -errno;
	const uint64_t data[] = { u.r15, u.r14, u.r13, u.r12, u.rbp, u.rbx, u.r11, u.r10,
				  u.r9,  u.r8,  u.rax, u.rcx, u.rdx, u.rsi, u.rdi };
	*r = (struct registers){
		.ip = u.rip,
		.sp = u.rsp,
		.call = (int64_t)u.orig_rax,
		.args = { u.rdi, u.rsi, u.rdx, u.r10, u.r8, u.r9 },
		.data_cnt = sizeof(data) / sizeof(*data),
	};
	memcpy(r->data, data, sizeof(data));
	return 0;
}
