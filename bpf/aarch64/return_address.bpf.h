/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a probed call returns to: in x30. Also compiled for the host (tests/bpfhost). The twin is in ../x86_64. */
#ifndef ALYS_RETURN_ADDRESS_BPF_H
#define ALYS_RETURN_ADDRESS_BPF_H

#include "unwind.bpf.h"

/* Words of a frame in which a saved return address is looked for: frames of allocators' functions are small. */
#define KEPT_WORDS 64

/* The caller of the function that is probed. link: LINK_REGISTER at the probe. */
static __always_inline __u64 caller_at(__u64 cfa, __u64 link)
{
	return caller_hidden(cfa) ?: CODE_ADDRESS(link);
}

static __always_inline __u64 caller_of(__u64 cfa, __u64 link, struct walk_slot *w)
{
	return caller_at(cfa, link);
}

/*
 * Has an earlier call with this frame, which returns to caller, kept its return address? Where, is not known here: it is
 * looked for from the CFA down. A pending return probe has replaced it by its trampoline, and says so itself. Global, so
 * that it is verified once.
 */
__weak __noinline bool is_kept(__u64 cfa, __u64 caller)
{
	__u64 word;
	if (caller_hidden(cfa) == caller)
		return true;
	for (__u32 i = 1; i <= KEPT_WORDS; i++) {
		if (bpf_probe_read_user(&word, sizeof(word), (void *)(cfa - 8 * i)))
			break;
		if (CODE_ADDRESS(word) == caller)
			return true;
	}
	return false;
}

#endif
