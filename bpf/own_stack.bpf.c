// SPDX-License-Identifier: GPL-2.0-only
/* Does keep_own_stack do what it promises, on this kernel? */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "task.bpf.h"
#include "own_stack.bpf.h"

#define LARGER_THAN_SHARED 64 /* bytes */
#define KERNEL_STACK_MAX 65536

char LICENSE[] SEC("license") = "GPL";

__u64 own_stack_at = 0;

/* Run by the loader, in its own thread: 1 if this function's stack is that of the thread. */
SEC("raw_tp")
int is_on_own_stack(void *ctx)
{
	volatile __u8 here[LARGER_THAN_SHARED];
	keep_own_stack();
	here[0] = 0;
	*(volatile __u64 *)&own_stack_at = (__u64)here;
	return *(volatile __u64 *)&own_stack_at - (__u64)current_task()->stack < KERNEL_STACK_MAX;
}
