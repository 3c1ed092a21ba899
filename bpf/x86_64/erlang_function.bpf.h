/* SPDX-License-Identifier: GPL-2.0-only */
/* The Erlang function that called the VM: its return address is on the Erlang stack, as all others. The twin is in ../aarch64. */
#ifndef ALYS_ERLANG_FUNCTION_BPF_H
#define ALYS_ERLANG_FUNCTION_BPF_H

static __always_inline __u64 erlang_function(struct pt_regs *ctx, const struct alys_object *o, __u64 bias)
{
	return 0;
}

#endif
