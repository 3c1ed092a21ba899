/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A call stack: walked, hashed, and sent unless the loader has it. stack_take does all of it, for any kind of walk;
 * callers that need the stack first use stack_begin and stack_end.
 */
#ifndef ALYS_STACK_BPF_H
#define ALYS_STACK_BPF_H

#include "unwind.bpf.h"

#define KERNEL_FRAMES (ALYS_MAX_FRAMES - 2)
#define KERNEL_FLAGS (BPF_F_USER_STACK | 1) /* without the probed address itself */

static __noinline int hash_frames(struct walk_slot *w)
{
	for (__u32 i = 0; i < ALYS_MAX_FRAMES; i++) {
		if (i >= w->rec.n)
			break;
		w->rec.hash = stack_mix(w->rec.hash, w->ips[i]);
	}
	return 0;
}

/*
 * The kernel's own frame-pointer walk. At a function's entry the frame is not set up yet, so it skips the caller: that
 * is read here, and the kernel's result goes after it. Kernels from 6.11 recognize `push rbp` as an entry and find the
 * caller themselves (commit cfa7f3d2c526): then the walk is repeated into the right place, which costs less than moving
 * everything.
 */
static __noinline int walk_kernel(struct pt_regs *ctx, __u64 cfa, struct walk_slot *w)
{
	__u32 max = config.max_frames;
	long behind = 2, got;
	w->ips[0] = PT_REGS_IP(ctx);
	w->rec.hash = w->s.hash;
	w->rec.n = 1;
	w->rec.end = ALYS_STOP_FAULT;
	if (entry_return(w, cfa, &w->ips[1]) != RULE_OK)
		return 0;
	got = bpf_get_stack(ctx, &w->ips[2], 8 * KERNEL_FRAMES, KERNEL_FLAGS);
	if (got >= 8 && w->ips[2] == w->ips[1]) {
		behind = 1;
		got = bpf_get_stack(ctx, &w->ips[1], 8 * KERNEL_FRAMES, KERNEL_FLAGS);
	}
	__u32 n = behind + (got > 0 ? (__u32)got / 8 : 0);
	w->rec.n = n < max ? n : max;
	w->rec.end = n < max ? ALYS_STOP_UNKNOWN : ALYS_STOP_TRUNCATED;
	return hash_frames(w);
}

/* Minimum time between two requests: a JIT would cause requests without end. */
#define MISS_PAUSE_NS 20000000ull
#define MISS_BUCKETS 64

__u64 miss_times[MISS_BUCKETS] __weak = {};

/* Asks the loader for the mapping that contains an address; rate-limited by process and megabyte. */
static __always_inline void miss_send(__u64 addr)
{
	__u64 now = bpf_ktime_get_ns();
	__u64 tgid = current_tgid();
	__u64 *last = &miss_times[stack_mix(tgid, addr >> 20) & (MISS_BUCKETS - 1)];
	if (now - *last < MISS_PAUSE_NS)
		return;
	*last = now;
	emit_proc(ALYS_EV_MISS, addr, true);
}

/* What says, in `seen` or with a known stack, that the loader has the stack. */
static __always_inline __u64 stack_mark(__u64 hash)
{
	return hash ^ *(volatile __u64 *)&seen_generation;
}

static __always_inline __u64 *seen_at(__u64 hash)
{
	__u32 i = hash & (ALYS_SEEN_SLOTS - 1);
	return bpf_map_lookup_elem(&seen, &i);
}

#define STACK_MASK (ALYS_RING_MORE / 2 - 1) /* for the verifier: no record is as long */

/*
 * Sends the stack unless it was sent lately. If the ring is full, `seen` is not changed, so it is sent the next time. The
 * generation is read first: the loader may discard what was sent while this task waits for a processor. Returns the mark; 0 if the
 * loader does not have the stack.
 */
static __always_inline __u64 stack_send(struct walk_slot *w)
{
	__u64 *had = seen_at(w->rec.hash), mark = stack_mark(w->rec.hash);
	if (!had)
		return 0;
	if (*had == mark)
		return mark;
	head_fill(&w->rec.h, ALYS_EV_STACK);
	__u64 size = (sizeof(w->rec) + 8 * w->rec.n) & STACK_MASK;
	void *e = ring_reserve(size);
	if (!e) {
		count(ALYS_ST_LOST_STACK);
		return 0;
	}
	barrier_var(size);
	size &= STACK_MASK; /* the verifier has forgotten */
	bpf_probe_read_kernel(e, size, w);
	ring_submit(e, size, wakes(0));
	*had = mark;
	return mark;
}

/* Equal calls that allocate another kind of memory are other stacks, but the same walk. */
static __always_inline __u64 stack_hash(const struct walk_slot *w)
{
	__u64 hash = w->rec.memory ? stack_mix(w->rec.hash, w->rec.memory) : w->rec.hash;
	return hash ?: 1; /* 0 is no stack */
}

/* Of a known stack: does the loader have it? */
static __always_inline bool stack_is_sent(const struct walk_slot *w)
{
	__u64 hash = stack_hash(w), mark = stack_mark(hash);
	if (w->s.sent == mark)
		return true;
	__u64 *had = seen_at(hash);
	return had && *had == mark;
}

/* Sends the stack of this slot if it is new, and returns its hash. */
static __always_inline __u64 walk_send(struct walk_slot *w)
{
	__u64 hash = stack_hash(w);
	if (w->s.missed)
		miss_send(w->s.missed);
	if (!w->s.known) {
		w->s.walked = w->rec.hash;
		w->rec.hash = hash;
		w->s.sent = stack_send(w);
	}
	return hash;
}

/* Ends a walk that cannot be known again. */
static __noinline __u64 walk_finish(struct walk_slot *w)
{
	__u64 hash = walk_send(w);
	slot_release(w);
	return hash;
}

/* The same for one from a function's entry. */
static __always_inline __u64 stack_result(struct walk_slot *w)
{
	__u64 hash = walk_send(w);
	if (config.walk != ALYS_WALK_KERNEL && config.recall && !w->s.known && w->s.learns)
		known_learn(w->number);
	slot_release(w);
	return hash;
}

/* Equal addresses in another process, or before and after exec, are other stacks. */
static __always_inline __u64 stack_owner(void)
{
	struct task_struct *task = current_task();
	return stack_mix(0x243f6a8885a308d3ull, (__u32)task->tgid | task->self_exec_id << 32);
}

/* For a walk; NULL: no stack is wanted, or no slot is free. */
static __always_inline struct walk_slot *stack_slot(void)
{
	return config.max_frames ? slot_claim() : NULL;
}

/* Of a walk without a slot: 0, for no stack. If one was wanted, it is counted. */
static __always_inline __u64 stack_missing(void)
{
	if (config.max_frames)
		count(ALYS_ST_NO_SLOT);
	return 0;
}

/* The slot of the walk that begins at a probe, or NULL, as above. Must be given to stack_end or stack_drop. */
static __always_inline struct walk_slot *stack_begin(struct pt_regs *ctx, struct walk_start at)
{
	struct walk_slot *w = stack_slot();
	if (w)
		walk_begin(ctx, w, at, stack_owner());
	return w;
}

/* The stack is not needed after all. */
static __always_inline void stack_drop(struct walk_slot *w)
{
	if (w)
		slot_release(w);
}

/* Does the full walk differ from the remembered one? Of a known one, only the hash was found. */
static __noinline int stack_differs(const struct walk_slot *w, const struct walk_slot *full)
{
	if (w->rec.n != full->rec.n || w->rec.end != full->rec.end || w->rec.hash != full->rec.hash)
		return 1;
	for (__u32 i = 0; i < ALYS_MAX_FRAMES && !w->s.known; i++) {
		if (i >= w->rec.n)
			break;
		if (w->ips[i] != full->ips[i])
			return 1;
	}
	return 0;
}

static __noinline int stack_compare(const struct walk_slot *w, const struct walk_slot *full)
{
	/* New tables between the two walks may have changed the result. */
	if ((w->s.known ? w->s.known_salt : w->s.salt) != full->s.salt)
		return 0;
	count(ALYS_ST_WALKS_COMPARED);
	if (stack_differs(w, full))
		count(ALYS_ST_WALKS_DIFFER);
	return 0;
}

static __always_inline void stack_check(struct pt_regs *ctx, struct walk_start at, const struct walk_slot *w)
{
	if (!(w->s.known || w->s.recalled))
		return;
	struct walk_slot *full = slot_claim();
	if (!full)
		return;
	walk_begin(ctx, full, at, stack_owner());
	full->m.kept = 0;
	walk_tables(full);
	stack_compare(w, full);
	full->m.kept = 0;
	slot_release(full);
}

/* Is the stack known here, and to the loader? Then it need not be walked. */
static __always_inline bool stack_known(struct walk_slot *w)
{
	if (!config.recall || !known_look(w))
		return false;
	w->s.known = stack_is_sent(w);
	w->s.learns = 1; /* that it is sent */
	return w->s.known;
}

/* config is rodata, so that the verifier sees only one of the branches. memory: as in struct alys_ev_stack. */
static __always_inline void stack_walk(struct pt_regs *ctx, struct walk_start at, struct walk_slot *w, __u32 memory)
{
	w->rec.memory = memory;
	if (config.walk == ALYS_WALK_KERNEL)
		walk_kernel(ctx, at.cfa, w);
	else if (!stack_known(w))
		walk_tables(w);
	if (config.walk != ALYS_WALK_KERNEL && config.recall == ALYS_RECALL_CHECK)
		stack_check(ctx, at, w);
}

/* What stack_walk found in this slot. */
static __always_inline __u64 stack_found(struct walk_slot *w)
{
	return w ? stack_result(w) : stack_missing();
}

/* The call stack as the hash that events carry; 0 = none. memory: as in struct alys_ev_stack. */
static __always_inline __u64 stack_end(struct pt_regs *ctx, struct walk_start at, struct walk_slot *w, __u32 memory)
{
	if (!w)
		return stack_missing();
	stack_walk(ctx, at, w, memory);
	return stack_result(w);
}

/* Of a thread that is anywhere in a function. memory: ALYS_MEMORY_* for a touch of a page, else 0. */
static __always_inline __u64 stack_take_anywhere(struct pt_regs *regs, __u32 memory)
{
	struct walk_slot *w = stack_slot();
	if (!w)
		return stack_missing();
	walk_interrupted(regs, w, stack_owner());
	walk_tables(w);
	w->rec.memory = memory;
	w->ips[0] = PT_REGS_IP(regs);
	return walk_finish(w);
}

static __always_inline __u64 stack_take(struct pt_regs *ctx, struct walk_start at, __u32 memory)
{
	return stack_end(ctx, at, stack_begin(ctx, at), memory);
}

#endif
