/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's types that our BPF programs touch, and of those only the fields they touch. CO-RE
 * moves every access to where the running kernel has it, so order and size here mean nothing.
 * Constants and structs of the BPF interface come from <linux/bpf.h>.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__ /* libbpf's bpf_tracing.h looks for this name */

#include <linux/bpf.h>
#include <linux/types.h>

typedef _Bool bool;
#define true 1
#define false 0

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx;
	unsigned long r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};

struct thread_struct {
	unsigned long fsbase;
};

/* A return probe that waits: the kernel has put its trampoline where orig_ret_vaddr stood. */
struct return_instance {
	unsigned long func;
	unsigned long stack; /* where the return address stands, by value of sp at the return */
	unsigned long orig_ret_vaddr;
	bool chained;
	struct return_instance *next;
};

struct uprobe_task {
	unsigned int depth;
	struct return_instance *return_instances;
};

struct file;

struct mm_struct {
	struct file *exe_file;
	unsigned long start_stack;
};

struct task_struct {
	int pid, tgid; /* the kernel's words: thread, process */
	int exit_code;
	unsigned int flags;
	__u64 start_time, start_boottime;
	struct task_struct *real_parent, *group_leader;
	struct mm_struct *mm;
	struct thread_struct thread;
	struct uprobe_task *utask;
	char comm[16];
};

struct linux_binprm {
	const char *filename;
	struct file *file;
};

#pragma clang attribute pop

#endif
