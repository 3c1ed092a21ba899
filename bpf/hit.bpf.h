/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel keeps of the hit at hand: the probe's cookie, and whether it is one at a return. There are helpers for both, but each
 * is two calls, of which any costs 10 ns on processors that guard returns. So these are loads that the kernel's exception table guards.
 */
#ifndef ALYS_HIT_BPF_H
#define ALYS_HIT_BPF_H

#include <bpf/bpf_core_read.h>

#ifndef ALYS_NO_KFUNCS
extern void *bpf_rdonly_cast(const void *obj, __u32 type) __ksym __weak; /* 6.2, commit a35b9af4ec2c */

/* Of multi links. NULL: of others, or the kernel keeps it elsewhere. */
static __always_inline const struct bpf_uprobe_multi_run_ctx *hit_context(struct task_struct *task)
{
	if (!config.hit_context || !bpf_rdonly_cast || !bpf_core_field_exists(struct bpf_uprobe_multi_run_ctx, uprobe) ||
	    !bpf_core_field_exists(struct bpf_uprobe, cookie) || !bpf_core_field_exists(struct task_struct, bpf_ctx))
		return NULL;
	return bpf_rdonly_cast(task->bpf_ctx, bpf_core_type_id_kernel(struct bpf_uprobe_multi_run_ctx));
}
#else
static __always_inline const struct bpf_uprobe_multi_run_ctx *hit_context(struct task_struct *task)
{
	return NULL;
}
#endif

static __always_inline __u64 hit_cookie(void *ctx)
{
	const struct bpf_uprobe_multi_run_ctx *h = hit_context(current_task()); /* asked for once, before all that needs it */
	return h ? h->uprobe->cookie : bpf_get_attach_cookie(ctx);
}

#endif
