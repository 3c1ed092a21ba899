/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a probed call returns to: at CFA - 8. Also compiled for the host (tests/bpfhost). The twin is in ../aarch64. */
#ifndef ALYS_RETURN_ADDRESS_BPF_H
#define ALYS_RETURN_ADDRESS_BPF_H

#include "unwind.bpf.h"

static __always_inline __u64 caller_word(__u64 cfa)
{
	__u64 caller = caller_hidden(cfa);
	if (!caller && bpf_probe_read_user(&caller, sizeof(caller), (void *)(cfa - 8)))
		return 0;
	return caller;
}

/* The address at which the call with this frame returns; 0 = unreadable. Global, so that it is verified once. */
__weak __noinline __u64 caller_read(__u64 cfa)
{
	return caller_word(cfa);
}

/* The caller of the function that is probed. link: LINK_REGISTER at the probe. */
static __always_inline __u64 caller_at(__u64 cfa, __u64 link)
{
	return caller_read(cfa);
}

/* Through the window of a walk begun in this slot (NULL: none). */
static __always_inline __u64 caller_of(__u64 cfa, __u64 link, struct walk_slot *w)
{
	if (!config.max_frames)
		return caller_word(cfa);
	if (!w)
		return caller_read(cfa);
	__u64 caller = caller_hidden(cfa);
	if (!caller && stack_word(w, cfa - 8, &caller) != RULE_OK)
		return 0;
	return caller;
}

/* Has an earlier call with this frame, which returns to caller, kept its return address? */
static __always_inline bool is_kept(__u64 cfa, __u64 caller)
{
	return caller_read(cfa) == caller;
}

#endif
