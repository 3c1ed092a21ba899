/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The few kernel types that the BPF programs look into, written by hand: CO-RE relocates each field
 * by name on the running kernel, so only the names have to be right, not offsets or neighbours.
 */
/* libbpf's bpf_tracing.h looks for this name to choose the kernel's register names. */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

#include <stdbool.h>
#include <linux/types.h>
#include <linux/bpf.h>

#ifndef NULL
#define NULL ((void *)0)
#endif

/* x86-64, arch/x86/include/asm/ptrace.h: part of the ABI of probes, never relocated. */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax;
	unsigned long ip, cs, flags, sp, ss;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

struct return_instance {
	unsigned long orig_ret_vaddr;
	unsigned long stack;
	struct return_instance *next;
};

struct uprobe_task {
	struct return_instance *return_instances;
};

struct list_head {
	struct list_head *next;
};

struct signal_struct {
	atomic_t live;
	struct list_head thread_head; /* of its tasks, by their thread_node */
	unsigned long long sum_sched_runtime;
};

struct sched_entity {
	unsigned long long sum_exec_runtime;
};

/* Each processor counts for itself, at `counters` in its own part of the kernel's memory, and adds it to `count` now and then. */
struct percpu_counter {
	long long count;
	int *counters;
};

/* Any structure that is one number. */
struct refcount_struct {
	struct {
		int counter;
	} refs;
};

/* The four counters were of another kind before 6.2. */
struct mm_struct {
	unsigned long brk;
	struct percpu_counter rss_stat[4];
};

/* A search for a free place in a process' memory. */
struct vm_unmapped_area_info {
	unsigned long flags;
	unsigned long length;
	unsigned long align_offset;
};

/* Of a map that each processor has a copy of: the copies' common address. */
struct bpf_array {
	void *pptrs[0];
};

struct thread_struct {
	unsigned long fsbase;
};

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

/* The number of a process in one namespace. */
struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1]; /* level + 1 of them */
};

/* Of the program that runs: what it begins with depends on the link. */
struct bpf_run_ctx {
};

struct bpf_session_run_ctx {
	bool is_return;
};

struct bpf_uprobe {
	__u64 cookie;
};

struct bpf_uprobe_multi_run_ctx {
	struct bpf_session_run_ctx session_ctx;
	struct bpf_uprobe *uprobe;
};

struct task_struct {
	void *stack;
	int pid;
	int tgid;
	int exit_code;
	unsigned long long self_exec_id;
	struct sched_entity se;
	struct list_head thread_node;
	struct signal_struct *signal;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct uprobe_task *utask;
	struct bpf_run_ctx *bpf_ctx;
	struct mm_struct *mm;
	struct thread_struct thread;
	unsigned int ptrace;
	unsigned long jobctl;
};

#pragma clang attribute pop

#endif
