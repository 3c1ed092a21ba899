/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Process and thread numbers as the loader's PID namespace has them. Processes of other namespaces, also of those below it,
 * have none: 0, which is never a target.
 */
#ifndef ALYS_NUMBERS_BPF_H
#define ALYS_NUMBERS_BPF_H

/* Apart: in the first namespace, its stack and its instructions are not there. */
static __noinline __u64 numbers_in_namespace(void)
{
	struct bpf_pidns_info in = {};
	if (bpf_get_ns_current_pid_tgid(config.pidns_dev, config.pidns_ino, &in, sizeof(in)))
		return 0;
	return (__u64)in.tgid << 32 | in.pid;
}

/* As bpf_get_current_pid_tgid: tgid << 32 | tid. */
static __always_inline __u64 current_numbers(void)
{
	struct task_struct *task = current_task(); /* first: so who asks later has the answer */
	if (config.pidns_ino)
		return numbers_in_namespace();
	return (__u64)task->tgid << 32 | (__u32)task->pid;
}

static __always_inline __u32 current_tgid(void)
{
	return current_numbers() >> 32;
}

#endif
