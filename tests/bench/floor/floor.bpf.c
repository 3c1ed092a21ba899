// SPDX-License-Identifier: GPL-2.0-only
/* Empty programs: they show the cost of the probes alone, without a tracer's work. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

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
