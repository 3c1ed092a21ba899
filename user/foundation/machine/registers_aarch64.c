/* SPDX-License-Identifier: Apache-2.0 */
/* machine/registers of aarch64: see registers.h. syscall(2): a call's number is in x8, its arguments in x0 to x5. */
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
	*r = (struct registers){
		.ip = u.pc,
		.sp = u.sp,
		.call = (int64_t)u.regs[8],
		.data_cnt = sizeof(u.regs) / sizeof(*u.regs),
	};
	memcpy(r->args, u.regs, sizeof(r->args));
	memcpy(r->data, u.regs, sizeof(u.regs));
	return 0;
}
