// SPDX-License-Identifier: GPL-2.0-only
/*
 * Start, exec and end of processes, and libraries that they load: facts for the loader's process table. Raw
 * tracepoints, because they need no tracefs.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "alys.h"
#include "task.bpf.h"
#include "own_stack.bpf.h"
#include "maps.bpf.h"
#include "numbers.bpf.h"
#include "machine.bpf.h"
#include "stats.bpf.h"
#include "hit.bpf.h"
#include "filter.bpf.h"
#include "emit.bpf.h"
#include "gc_maps.bpf.h"
#include "unwind_maps.bpf.h"
#include "hold.bpf.h"

/* The last number of a struct pid is that in the namespace of the process itself: kernel/pid.c, pid_nr_ns. */
static __always_inline __u32 tgid_of(struct task_struct *task)
{
	if (!config.pidns_ino)
		return BPF_CORE_READ(task, tgid);
	struct pid *pid = BPF_CORE_READ(task, group_leader, thread_pid);
	__u64 at = (__u64)pid + bpf_core_field_offset(struct pid, numbers);
	at += BPF_CORE_READ(pid, level) * bpf_core_type_size(struct upid);
	const struct upid *last = (const struct upid *)at;
	return BPF_CORE_READ(last, ns, ns.inum) == config.pidns_ino ? (__u32)BPF_CORE_READ(last, nr) : 0;
}

SEC("raw_tp/sched_process_fork")
int on_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[1];
	__u32 child = tgid_of(task), parent = current_tgid();
	if (child == parent || !child)
		return 0; /* only a new thread, or a process of another PID namespace */
	const __u8 *mark = bpf_map_lookup_elem(&targets, &parent);
	if (mark && *mark == ALYS_EXCLUDED)
		bpf_map_update_elem(&targets, &child, mark, BPF_ANY);
	if (!is_reported() || !(config.follow || config.report_all))
		return 0;
	if (mark && config.follow)
		bpf_map_update_elem(&targets, &child, mark, BPF_ANY);
	if (config.all || (mark && config.follow))
		map_list_fork(parent, child);
	emit_proc(ALYS_EV_FORK, child, false);
	return 0;
}

/* The kernel has the old program's thread pointer. */
static __always_inline void note_stale_pointer(void)
{
	struct call_room *room = thread_room();
	if (room)
		room->stale = THREAD_POINTER(current_task());
}

SEC("raw_tp/sched_process_exec")
int on_exec(struct bpf_raw_tracepoint_args *ctx)
{
	if (!is_reported())
		return 0;
	__u32 tgid = current_tgid();
	map_list_drop(tgid);
	bpf_map_delete_elem(&gc_states, &tgid);
	__sync_fetch_and_add(&gc_epoch, 1);
	if (THREAD_POINTER_LATE)
		note_stale_pointer();
	struct hold held = hold_wanted();
	__u64 program = current_task()->self_exec_id;
	hold(&held, emit_proc_at(ALYS_EV_EXEC, program, held.time, held.who, true));
	return 0;
}

/*
 * _dl_debug_state, which dynamic linkers call for debuggers: before they map or unmap libraries, and afterwards, before
 * any code of a new library runs.
 */
SEC("uprobe")
int on_link(struct pt_regs *ctx)
{
	keep_own_stack();
	if (!is_target())
		return 0;
	struct hold held = hold_wanted();
	hold(&held, emit_proc_at(ALYS_EV_MAPPED, 0, held.time, held.who, true));
	return 0;
}

/* Threads that end at the same time and are looked at. */
#define ENDING_THREADS 64

/* In ns, of all threads: those that were released are in the sum, and the others count as of the kernel's last look. */
static __always_inline __u64 cpu_time(struct task_struct *task)
{
	struct signal_struct *signal = BPF_CORE_READ(task, signal);
	struct list_head *head = &signal->thread_head, *at = BPF_CORE_READ(signal, thread_head.next);
	__u64 sum = BPF_CORE_READ(signal, sum_sched_runtime);
	for (int i = 0; i < ENDING_THREADS && at && at != head; i++) {
		struct task_struct *each = (void *)at - bpf_core_field_offset(struct task_struct, thread_node);
		sum += BPF_CORE_READ(each, se.sum_exec_runtime);
		at = BPF_CORE_READ(at, next);
	}
	return sum;
}

SEC("raw_tp/sched_process_exit")
int on_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	__u32 tgid = current_tgid();
	/* The process ends with its last thread; the group leader may have exited long before. */
	if (BPF_CORE_READ(task, signal, live.counter) != 0)
		return 0;
	if (is_reported()) {
		map_list_drop(tgid);
		if (config.windowed || config.page_windows)
			emit_proc(ALYS_EV_USED, cpu_time(task), false);
		emit_proc(ALYS_EV_EXIT, ALYS_EXIT_STATUS | (__u32)BPF_CORE_READ(task, exit_code), false);
	}
	bpf_map_delete_elem(&targets, &tgid);
	bpf_map_delete_elem(&gc_states, &tgid);
	return 0;
}

/* The argument is the victim's pid, since 6.8 (72ba14deb40a) its task: recognized by the value. */
SEC("raw_tp/mark_victim")
int on_oom(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 victim = ctx->args[0];
	if (victim >> 32)
		victim = tgid_of((struct task_struct *)victim);
	if (recording)
		emit_proc(ALYS_EV_OOM, victim, true);
	return 0;
}
