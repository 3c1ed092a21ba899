/* SPDX-License-Identifier: GPL-2.0-only */
/* Branches, by which a known stack is looked for: see known.bpf.h. */
#ifndef ALYS_BRANCHES_BPF_H
#define ALYS_BRANCHES_BPF_H

static __always_inline bool branch_is(__u64 b, __u64 key)
{
	return !((b ^ key) >> 32);
}

static __always_inline volatile __u64 *branch_place(__u64 key, __u32 i)
{
	__u32 at = (key & -BRANCH_PLACES) | (i & (BRANCH_PLACES - 1));
	barrier_var(at); /* otherwise old verifiers do not see the bounds */
	return &branches[at & (BRANCHES - 1)];
}

static __always_inline __u64 branch_at(__u64 key)
{
	__u64 b = 0;
	for (int i = 0; i < BRANCH_PLACES; i++) {
		b = *branch_place(key, i);
		if (branch_is(b, key))
			return b;
	}
	return 0;
}

static __always_inline __u32 branch_reach(__u64 b)
{
	return b >> 16 & 0xffff;
}

static __always_inline __u32 branch_entry(__u64 b)
{
	return b & BRANCH_ENDS ? b & BRANCH_WORD & ~BRANCH_ENDS : KNOWN_NOWHERE;
}

/* Did it lead to a stack that another has replaced? */
static __always_inline bool branch_is_stale(__u64 b)
{
	const struct known_stack *k = known_at(branch_entry(b));
	return k && !branch_is(b, k->key);
}

/* The stack to which the branch with this key leads, or NULL. */
static __always_inline struct known_stack *branch_stack(__u64 b, __u64 key)
{
	struct known_stack *k = known_at(branch_entry(b));
	return k && k->key == key ? k : NULL;
}

/* Its present place; else the first one that is empty, or leads to a replaced stack; else any. */
static __always_inline __u32 branch_choose(__u64 key)
{
	__u32 place = key >> 28;
	for (int i = BRANCH_PLACES - 1; i >= 0; i--) {
		__u64 b = *branch_place(key, i);
		if (branch_is(b, key))
			return i;
		if (!b || branch_is_stale(b))
			place = i;
	}
	return place;
}

/* Global, so that it is verified once. */
__noinline int branch_set(__u64 key, __u32 reach, __u32 word)
{
	*branch_place(key, branch_choose(key)) = (key & 0xffffffff00000000) | (__u64)reach << 16 | word;
	return 0;
}

static __always_inline __u64 window_word(const struct walk_slot *w, __u64 i)
{
	return CODE_ADDRESS(w->window[i & (WINDOW_WORDS - 1)]);
}

/* The branch behind one that goes by this word. */
static __always_inline __u64 branch_next(const struct walk_slot *w, __u64 *key, __u64 word)
{
	__u64 next = stack_mix(*key, window_word(w, word - 1)), b = branch_at(next);
	if (!b) {
		next = stack_mix(*key, BRANCH_DATA);
		b = branch_at(next);
	}
	*key = next;
	return b;
}

#endif
