/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between machines in a thread of the target: its thread pointer, its system calls, the frame of a signal,
 * how return addresses are kept. Also compiled for the host (tests/bpfhost).
 */
#ifndef ALYS_MACHINE_BPF_H
#define ALYS_MACHINE_BPF_H

/* The kernel's types for this machine, as far as they are used; not in vmlinux.h. The first one is fixed: asm/ptrace.h. */
struct user_pt_regs {
	__u64 regs[31];
	__u64 sp, pc, pstate;
};

struct thread_struct___arm64 {
	struct {
		unsigned long tp_value;
	} uw;
} __attribute__((preserve_access_index));

struct pt_regs___machine {
	__u64 regs[31];
	__s32 syscallno;
} __attribute__((preserve_access_index));

#define MACHINE_OF(regs) ((const struct pt_regs___machine *)(regs))
#define THREAD_POINTER(task) (((const struct thread_struct___arm64 *)&(task)->thread)->uw.tp_value)
/*
 * The kernel learns of it when it switches to another thread: after an exec it still has the old program's. It knows those of new
 * threads from the start.
 */
#define THREAD_POINTER_LATE 1
/* The address of the table of thread-local blocks (DTV), from the thread pointer: TLS variant I. */
#define DTV_AT(pointer) (pointer)

/*
 * A thread-local variable's descriptor is a function and its argument: the distance from the thread pointer, or, if the module was
 * loaded later, the address of its number and of the variable's offset there. No program has memory as low as such distances.
 */
#define TLS_OFFSET(words) ((words)[1] < 1 << 22 ? (words)[1] : 0)
#define TLS_INDEX_AT(words) ((words)[1])

#define SYSCALL_NUMBER(regs) ((__s64)MACHINE_OF(regs)->syscallno)
#define SYSCALL_ARG_0(regs) (MACHINE_OF(regs)->regs[0])
#define SYSCALL_ARG_1(regs) (MACHINE_OF(regs)->regs[1])
#define SYSCALL_ARG_2(regs) (MACHINE_OF(regs)->regs[2])
#define SYSCALL_ARG_3(regs) (MACHINE_OF(regs)->regs[3])
#define SYSCALL_ARG_4(regs) (MACHINE_OF(regs)->regs[4])
enum { CALL_NONE = -1, CALL_MMAP = 222, CALL_MUNMAP = 215, CALL_BRK = 214, CALL_MREMAP = 216, CALL_MADVISE = 233 };

/* Stores may be seen in another order here, and BPF before 6.15 has no store that releases. */
static __always_inline void word_release(__u32 *word)
{
	__sync_lock_test_and_set(word, 0);
}

/* What is read after it is as new as the word, or newer; and what was read before it, as old, or older. */
static __always_inline __u32 word_acquire(__u32 *word)
{
	return __sync_fetch_and_add(word, 0);
}

/* What was written before it is seen before it. */
static __always_inline void word_publish(__u32 *word, __u32 value)
{
	__sync_lock_test_and_set(word, value);
}

/* A return address without its signature (pointer authentication). */
#define CODE_ADDRESS(word) ((word) & ~config.pac_mask)
#define LINK_REGISTER(ctx) PT_REGS_RET(ctx)

/* x30 in a walk: of the current frame, and if that is a signal's, of the interrupted one. */
struct walk_link {
	__u64 now, caller;
};

/* Offsets in the kernel's signal frame, from sp: siginfo, then the ucontext (asm/sigcontext.h). */
#define SIGNAL_FP 544
#define SIGNAL_LINK 552
#define SIGNAL_SP 560
#define SIGNAL_IP 568

#endif
