/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs run on the kernel stack of their thread. Since 6.13 (commit e00931c02568) the kernel gives each function with more than
 * 48 bytes of stack a stack of the processor instead. Two tasks share it if the first one sleeps, or is preempted, in the function, and
 * a uprobe's program may do both. Programs with a tail call are excepted, even if it is never taken.
 */
#ifndef ALYS_OWN_STACK_BPF_H
#define ALYS_OWN_STACK_BPF_H

const volatile bool tail_call_taken __weak = false;

/* In each program that has such a function (scripts/check-insns). The call has no arguments: the verifier does not look at it. */
static __always_inline void keep_own_stack(void)
{
	if (tail_call_taken)
		asm volatile("call %[helper]"
			     :
			     : [helper] "i"(BPF_FUNC_tail_call)
			     : "r0", "r1", "r2", "r3", "r4", "r5", "memory");
}

#endif
