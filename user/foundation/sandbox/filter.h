/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox/filter: macros for seccomp filters. What a filter names is allowed; everything else fails with EPERM. The
 * first matching entry decides.
 */
#ifndef ALYS_SANDBOX_FILTER_H
#define ALYS_SANDBOX_FILTER_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

#include "machine/syscalls.h"

#define FILTER_FIELD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define FILTER_GIVE(action) BPF_STMT(BPF_RET | BPF_K, action)
#define FILTER_REFUSE(code) FILTER_GIVE(SECCOMP_RET_ERRNO | (code))
#define FILTER_IS(number, otherwise) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, otherwise)

#define FILTER_BEGIN                                                                                                         \
	FILTER_FIELD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYSCALLS_ARCH, 1, 0), FILTER_GIVE(SECCOMP_RET_KILL_PROCESS), \
		FILTER_FIELD(nr)
#define FILTER_END FILTER_REFUSE(EPERM)

#define ALLOW(name) FILTER_IS(__NR_##name, 1), FILTER_GIVE(SECCOMP_RET_ALLOW)
#define REFUSE_AS(name, code) FILTER_IS(__NR_##name, 1), FILTER_REFUSE(code)
/* Raises SIGSYS instead; its handler emulates the call. */
#define TRAP(name) FILTER_IS(__NR_##name, 1), FILTER_GIVE(SECCOMP_RET_TRAP)
/*
 * Allowed only if any of these bits of an argument is set, if none is, or if the masked argument has exactly this
 * value; all in its low 32 bits.
 */
#define ALLOW_SET(name, arg, bits)                                                                            \
	FILTER_IS(__NR_##name, 4), FILTER_FIELD(args[arg]), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1), \
		FILTER_GIVE(SECCOMP_RET_ALLOW), FILTER_REFUSE(EPERM)
#define ALLOW_CLEAR(name, arg, bits)                                                                          \
	FILTER_IS(__NR_##name, 4), FILTER_FIELD(args[arg]), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 1, 0), \
		FILTER_GIVE(SECCOMP_RET_ALLOW), FILTER_REFUSE(EPERM)
#define ALLOW_VALUE(name, arg, mask, value)                                                                                 \
	FILTER_IS(__NR_##name, 5), FILTER_FIELD(args[arg]), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask), FILTER_IS(value, 1), \
		FILTER_GIVE(SECCOMP_RET_ALLOW), FILTER_REFUSE(EPERM)
/* The same, but later entries may match other values of this argument. */
#define ALLOW_ONE(name, arg, value) \
	FILTER_IS(__NR_##name, 4), FILTER_FIELD(args[arg]), FILTER_IS(value, 1), FILTER_GIVE(SECCOMP_RET_ALLOW), FILTER_FIELD(nr)

/* For this thread and its children, irrevocably; no_new_privs must be set. 0 or -errno. */
int filter_enter(const struct sock_filter *table, size_t n);
#define FILTER_ENTER(table) filter_enter(table, sizeof(table) / sizeof((table)[0]))

#endif
