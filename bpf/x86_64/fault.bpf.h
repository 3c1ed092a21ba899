/* SPDX-License-Identifier: GPL-2.0-only */
/* Page faults of all processes: two tracepoints. The twin is in ../aarch64. */
#ifndef ALYS_FAULT_BPF_H
#define ALYS_FAULT_BPF_H

/* And page_fault_kernel: memory that a system call reads or writes. */
SEC("raw_tp/page_fault_user")
int on_touch(struct bpf_raw_tracepoint_args *ctx)
{
	return touch_begin(ctx->args[0]);
}

#endif
