// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls of functions chosen by --calls: one probe at the entry of each, which adds one. No event, no stack, no return
 * probe.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "alys.h"
#include "task.bpf.h"
#include "maps.bpf.h"
#include "numbers.bpf.h"
#include "stats.bpf.h"
#include "hit.bpf.h"
#include "filter.bpf.h"

/* Read by the loader, which deletes the entries of programs that have ended. Its size is set by the loader. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, ALYS_MAX_ENTERED);
	__type(key, struct alys_entered);
	__type(value, __u64);
} entered SEC(".maps");

static const __u64 none_yet;

static __always_inline __u64 *counter_of(const struct alys_entered *key)
{
	__u64 *n = bpf_map_lookup_elem(&entered, key);
	if (n)
		return n;
	bpf_map_update_elem(&entered, key, &none_yet, BPF_NOEXIST);
	return bpf_map_lookup_elem(&entered, key);
}

SEC("uprobe")
int count_entry(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	if (!recording || (!(cookie & ALYS_COOKIE_FILTERED) && !is_target()))
		return 0;
	const struct alys_entered key = {
		.tgid = current_tgid(),
		.function = cookie,
		.program = current_task()->self_exec_id,
	};
	__u64 *n = counter_of(&key);
	if (n)
		__sync_fetch_and_add(n, 1);
	else
		count(ALYS_ST_ENTERED_NO_ROOM);
	return 0;
}
