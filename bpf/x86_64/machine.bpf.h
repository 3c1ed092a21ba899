/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between machines in a thread of the target: its thread pointer, its system calls, the frame of a signal.
 * Also compiled for the host (tests/bpfhost).
 */
#ifndef ALYS_MACHINE_BPF_H
#define ALYS_MACHINE_BPF_H

/* The words at a thread-local variable's index are its module and its offset there. */
#define TLS_OFFSET(words) 0
#define TLS_INDEX_AT(words) 0
#define THREAD_POINTER(task) ((task)->thread.fsbase)
#define THREAD_POINTER_LATE 0
/* TLS as in Drepper's "ELF Handling For Thread-Local Storage", 3.4.2 and 4.4.6: variant II. */
#define DTV_AT(pointer) ((pointer) + 8)

#define SYSCALL_NUMBER(regs) ((__s64)(regs)->orig_ax)
#define SYSCALL_ARG_0(regs) ((regs)->di)
#define SYSCALL_ARG_1(regs) ((regs)->si)
#define SYSCALL_ARG_2(regs) ((regs)->dx)
#define SYSCALL_ARG_3(regs) ((regs)->r10)
#define SYSCALL_ARG_4(regs) ((regs)->r8)
enum { CALL_NONE = -1, CALL_MMAP = 9, CALL_MUNMAP = 11, CALL_BRK = 12, CALL_MREMAP = 25, CALL_MADVISE = 28 };

/* Stores are seen in order here: a plain one ends what __sync_lock_test_and_set began, at a tenth of another's price. */
static __always_inline void word_release(__u32 *word)
{
	asm volatile("" ::: "memory");
	*(volatile __u32 *)word = 0;
}

/* Loads are in order, too: what is read after it is as new as the word, or newer; and what was read before it, as old, or older. */
static __always_inline __u32 word_acquire(__u32 *word)
{
	asm volatile("" ::: "memory");
	__u32 value = *(volatile __u32 *)word;
	asm volatile("" ::: "memory");
	return value;
}

/* What was written before it is seen before it. */
static __always_inline void word_publish(__u32 *word, __u32 value)
{
	asm volatile("" ::: "memory");
	*(volatile __u32 *)word = value;
}

/* Return addresses are not signed, and always in memory. */
#define CODE_ADDRESS(word) (word)
#define LINK_REGISTER(ctx) 0
struct walk_link {
};

/* Offsets in the ucontext that the kernel has put at rsp (struct sigcontext, asm/sigcontext.h). */
#define SIGNAL_FP 120
#define SIGNAL_SP 160
#define SIGNAL_IP 168

#endif
