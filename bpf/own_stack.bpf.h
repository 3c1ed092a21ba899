/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs run on the kernel's stack of their thread. Since 6.13 (commit e00931c02568) a function that uses more than 48 bytes of
 * stack gets one of its processor instead, which two tasks share if the first sleeps in it, or is preempted; of a uprobe's
 * program the kernel excludes neither. It leaves programs alone that call others (bpf_tail_call), whether they ever do or not.
 */
#ifndef ALYS_OWN_STACK_BPF_H
#define ALYS_OWN_STACK_BPF_H

const volatile bool calls_others __weak = false;

/* In each program that has such a function: scripts/check-insns. The verifier drops the call, which has no arguments either. */
static __always_inline void keep_own_stack(void)
{
	if (calls_others)
		asm volatile("call %[helper]"
			     :
			     : [helper] "i"(BPF_FUNC_tail_call)
			     : "r0", "r1", "r2", "r3", "r4", "r5", "memory");
}

#endif
