// SPDX-License-Identifier: GPL-2.0-only
/* Does keep_own_stack do what it promises, on this kernel? */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "task.bpf.h"
#include "own_stack.bpf.h"

#define PRIVATE_FROM 64 /* bytes of stack: the kernel's BPF_PRIV_STACK_MIN_SIZE */
#define KERNEL_STACK_MAX 65536

char LICENSE[] SEC("license") = "GPL";

__u64 own_stack_at = 0;

/* The loader runs it, in its own thread: 1 if this function's stack is part of the thread's. */
SEC("raw_tp")
int is_on_own_stack(void *ctx)
{
	volatile __u8 here[PRIVATE_FROM];
	keep_own_stack();
	here[0] = 0;
	*(volatile __u64 *)&own_stack_at = (__u64)here;
	return *(volatile __u64 *)&own_stack_at - (__u64)current_task()->stack < KERNEL_STACK_MAX;
}
