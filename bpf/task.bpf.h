/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The thread that runs the program. Each call of a helper ends in a return that processors with a guarded `ret` mispredict, 10 ns
 * on some: the compiler may ask once in a function and keep the answer, which it does not know of bpf_get_current_task_btf.
 */
#ifndef ALYS_TASK_BPF_H
#define ALYS_TASK_BPF_H

static __always_inline struct task_struct *current_task(void)
{
	register struct task_struct *task asm("r0");
	asm("call %[helper]" : "=r"(task) : [helper] "i"(BPF_FUNC_get_current_task_btf) : "r1", "r2", "r3", "r4", "r5");
	return task;
}

#endif
