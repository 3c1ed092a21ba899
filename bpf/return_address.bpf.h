/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a probed call returns to. Also compiled for the host (tests/bpfhost). */
#ifndef ALYS_RETURN_ADDRESS_BPF_H
#define ALYS_RETURN_ADDRESS_BPF_H

#include "unwind.bpf.h"

/* The real return address, if a return probe has replaced it by its trampoline; else 0. */
static __always_inline __u64 caller_hidden(__u64 cfa)
{
	struct uprobe_task *probes = bpf_get_current_task_btf()->utask;
	return probes && probes->return_instances ? return_probe_at(cfa - 8) : 0;
}

/* The caller's address; 0 = unreadable. Global, so that it is verified once. */
__weak __noinline __u64 caller_at(__u64 cfa)
{
	__u64 caller = caller_hidden(cfa);
	if (!caller && bpf_probe_read_user(&caller, sizeof(caller), (void *)(cfa - 8)))
		return 0;
	return caller;
}

/* The same, through the window of a walk begun in this slot (negative: none). */
__weak __noinline __u64 caller_of(__u64 cfa, __s32 slot)
{
	struct walk_slot *w = slot_at(slot);
	if (!w)
		return caller_at(cfa);
	__u64 caller = caller_hidden(cfa);
	if (!caller && stack_word(w, cfa - 8, &caller) != RULE_OK)
		return 0;
	return caller;
}

#endif
