// SPDX-License-Identifier: GPL-2.0-only
/*
 * Empty programs show the cost of the probes alone, without a tracer's work. The least recorder shows what comes on top for any
 * tracer that records calls: it reads a word and the stack, and the clock, and sends a record. It looks at nothing of that.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

SEC("uprobe")
int empty_session(void *ctx)
{
	return 0;
}

SEC("uprobe")
int skipped_session(void *ctx)
{
	return 1;
}

SEC("uprobe")
int empty_entry(void *ctx)
{
	return 0;
}

#define STACK_SZ 512

const volatile bool with_stacks = false;
__u64 missed = 0; /* calls that were not recorded */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64[STACK_SZ / sizeof(__u64)]);
} stacks SEC(".maps");

struct record {
	__u64 time, addr, size, stack, cookie;
	__u32 tgid, tid;
};

static __always_inline int miss(void)
{
	__sync_fetch_and_add(&missed, 1);
	return 1;
}

static __always_inline int record(struct pt_regs *ctx, __u64 addr, __u64 size)
{
	__u32 zero = 0;
	__u64 *stack = bpf_map_lookup_elem(&stacks, &zero);
	struct task_struct *task = bpf_get_current_task_btf();
	if (!stack || (with_stacks && bpf_probe_read_user(stack, STACK_SZ, (void *)PT_REGS_SP(ctx))))
		return miss();
	struct record *r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);
	if (!r)
		return miss();
	r->time = bpf_ktime_get_ns();
	r->addr = addr;
	r->size = size;
	r->stack = stack[0];
	r->cookie = bpf_get_attach_cookie(ctx);
	r->tgid = task->tgid;
	r->tid = task->pid;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return 1;
}

/* As if the result were known from a word of the program's memory: the return is skipped. */
SEC("uprobe")
int least_alloc(struct pt_regs *ctx)
{
	__u64 addr;
	if (bpf_probe_read_user(&addr, sizeof(addr), (void *)PT_REGS_SP(ctx)))
		return miss();
	return record(ctx, addr, PT_REGS_PARM1(ctx));
}

SEC("uprobe")
int least_free(struct pt_regs *ctx)
{
	return record(ctx, PT_REGS_PARM1(ctx), 0);
}
