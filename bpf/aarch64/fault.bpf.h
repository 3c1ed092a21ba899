/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Page faults of all processes: there is no tracepoint, but perf counts them, and reports each to a program if it is asked to
 * sample one in one. The twin is in ../x86_64.
 */
#ifndef ALYS_FAULT_BPF_H
#define ALYS_FAULT_BPF_H

/* include/uapi/linux/bpf_perf_event.h */
struct bpf_perf_event_data {
	struct user_pt_regs regs;
	__u64 sample_period, addr;
};

SEC("perf_event")
int on_touch(struct bpf_perf_event_data *ctx)
{
	return touch_begin(ctx->addr);
}

#endif
