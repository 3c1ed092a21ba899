// SPDX-License-Identifier: GPL-2.0
/*
 * Processes that begin, become another program, or end: facts for the loader's process table. Raw
 * tracepoints, because they need no tracefs.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "alys.h"
#include "maps.bpf.h"
#include "stats.bpf.h"
#include "filter.bpf.h"
#include "emit.bpf.h"
#include "unwind_maps.bpf.h"

SEC("raw_tp/sched_process_fork")
int on_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *child = (struct task_struct *)ctx->args[1];
	__u32 tgid = BPF_CORE_READ(child, tgid);
	__u8 yes = 1;
	if (!config.follow || !is_target() || tgid == (__u32)(bpf_get_current_pid_tgid() >> 32))
		return 0; /* not ours, not wanted, or only a new thread */
	bpf_map_update_elem(&targets, &tgid, &yes, BPF_ANY);
	map_list_fork(bpf_get_current_pid_tgid() >> 32, tgid);
	emit_proc(ALYS_EV_FORK, tgid);
	return 0;
}

SEC("raw_tp/sched_process_exec")
int on_exec(struct bpf_raw_tracepoint_args *ctx)
{
	if (!is_target())
		return 0;
	map_list_drop(bpf_get_current_pid_tgid() >> 32);
	emit_proc(ALYS_EV_EXEC, 0);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int on_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	__u64 id = bpf_get_current_pid_tgid();
	/* The last thread to go ends the process; the group leader may be gone long before. */
	if (!is_target() || BPF_CORE_READ(task, signal, live.counter) != 0)
		return 0;
	emit_proc(ALYS_EV_EXIT, 0);
	__u32 tgid = id >> 32;
	bpf_map_delete_elem(&targets, &tgid);
	return 0;
}
