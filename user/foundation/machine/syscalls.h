/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine/syscalls: this machine's system calls, as filters and a handler of SIGSYS meet them. SYSCALLS_ARCH is the number that a
 * filter sees; SYSCALLS_ARGUMENT (0 to 2) and SYSCALLS_RESULT are words in the handler's ucontext_t. Filters name a call as x86-64
 * does, which has the most: where one does not exist, its number is one that no call has.
 */
#ifndef ALYS_MACHINE_SYSCALLS_H
#define ALYS_MACHINE_SYSCALLS_H

#include <linux/audit.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include OF_MACHINE(syscalls)

#endif
