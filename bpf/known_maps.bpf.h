/* SPDX-License-Identifier: GPL-2.0-only */
/* Maps of known stacks: see known.bpf.h. */
#ifndef ALYS_KNOWN_MAPS_BPF_H
#define ALYS_KNOWN_MAPS_BPF_H

#define KNOWN_STACKS 2048 /* at most */
#define KNOWN_NOWHERE (~0u)
#define KNOWN_GROUPS 32 /* of words, in a stack. A power of two. */
#define GROUP_WORDS 8   /* likewise */

/* Words of the stack, and their offsets in the window that the walk begins with, plus WORD_IS_FP. */
struct known_words {
	__u64 value[GROUP_WORDS];
	__u16 at[GROUP_WORDS];
};

#define WORD_IS_FP 1 /* a saved fp; the others are return addresses */

/* What is read of most stacks lies together: on a busy processor, each line of its cache more costs as much as ten comparisons. */
struct known_stack {
	__u32 version; /* odd while it is written */
	__u16 groups;  /* 0 = no stack */
	__u16 reach;   /* bytes of the window that hold the words */
	__u64 key;     /* of the branch that leads here */
	__u64 owner;   /* process and program: initial value of its stack hashes */
	__u64 salt;    /* of its mapping list */
	__u64 changes; /* map_list_changes + 1 when that was compared */
	__u64 ip, sp, bp, cfa, caller;
	__u64 hash;
	__u64 sent; /* see stack_send */
	__u32 n;    /* frames */
	__u16 end;  /* ALYS_STOP_* */
	__u16 needs_bp;
	struct known_words words[KNOWN_GROUPS]; /* the last one repeats up to the end of its group */
};

/* Written by walks that claim an entry by its version; read by all. Full: mostly a stack replaces the one written longest ago. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, KNOWN_STACKS);
	__type(key, __u32);
	__type(value, struct known_stack);
} known_stacks SEC(".maps") __weak;

/* Where the next one is written, modulo their number. */
__u32 known_next __weak = 0;

#define BRANCHES 16384
#define BRANCH_PLACES 4 /* in any of which one may be. A power of two. */
#define BRANCH_DEPTH 8  /* branches on the way to a stack */

/*
 * By the lower bits of a key, in one of some places side by side. Its upper half is the upper half of the branch; then 16 bits: bytes of
 * stack that walks from a first key need, 0 = not known; then 16 bits: 1 + index of the word by which stacks differ, or BRANCH_ENDS and
 * the index in known_stacks, or 0. Whole words, so that a reader sees an old or a new one.
 */
__u64 branches[BRANCHES] __attribute__((aligned(64))) __weak = {};

#define BRANCH_WORD 0xffff
#define BRANCH_ENDS 0x8000
#define BRANCH_DATA (~0ull) /* instead of the word, if it is none of the stack's */

static __always_inline struct known_stack *known_at(__u32 i)
{
	return bpf_map_lookup_elem(&known_stacks, &i);
}

#endif
