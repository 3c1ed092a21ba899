/* SPDX-License-Identifier: Apache-2.0 */
/* machine/syscalls of x86-64: see syscalls.h. */
#ifndef ALYS_MACHINE_SYSCALLS_X86_64_H
#define ALYS_MACHINE_SYSCALLS_X86_64_H

#define SYSCALLS_ARCH AUDIT_ARCH_X86_64
#define SYSCALLS_ARGUMENT(c, n) ((c)->uc_mcontext.gregs[(const int[]){ REG_RDI, REG_RSI, REG_RDX }[n]])
#define SYSCALLS_RESULT(c) ((c)->uc_mcontext.gregs[REG_RAX])

#endif
