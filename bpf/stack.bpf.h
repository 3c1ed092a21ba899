/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A call stack: taken, hashed, and sent when the loader has not seen it. stack_take is the only
 * door, whatever walks behind it.
 */
#ifndef ALYS_STACK_BPF_H
#define ALYS_STACK_BPF_H

#define WALK_SLOTS 512 /* 8 for each of 64 CPUs; a walk that finds none of its 8 free is counted */

/* Plain array instead of per-CPU memory: on preemptible kernels a second task of the same CPU may
 * walk while the first one is in the middle. */
struct walk_slot {
	struct alys_ev_stack rec;
	__u64 ips[ALYS_MAX_FRAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WALK_SLOTS);
	__type(key, __u32);
	__type(value, struct walk_slot);
} walk_slots SEC(".maps");

__u32 walk_busy[WALK_SLOTS];

static __always_inline __s32 slot_claim(void)
{
	__u32 first = bpf_get_smp_processor_id() * 8;
	for (__u32 i = 0; i < 8; i++) {
		__u32 slot = (first + i) & (WALK_SLOTS - 1);
		if (!__sync_lock_test_and_set(&walk_busy[slot], 1))
			return slot;
	}
	return -1;
}

static __always_inline void slot_release(__u32 slot)
{
	__sync_lock_test_and_set(&walk_busy[slot & (WALK_SLOTS - 1)], 0);
}

/* Sends the stack unless it was sent lately. A full ring leaves `seen` as it is: next time again. */
static __always_inline void stack_send(struct walk_slot *w, const struct alys_target *t)
{
	__u32 i = w->rec.hash & (ALYS_SEEN_SLOTS - 1);
	__u64 *known = bpf_map_lookup_elem(&seen, &i);
	if (!known || *known == w->rec.hash)
		return;
	head_fill(&w->rec.h, ALYS_EV_STACK, t);
	__u64 size = sizeof(w->rec) + 8 * (w->rec.n & (ALYS_MAX_FRAMES - 1));
	if (bpf_ringbuf_output(&events, w, size, wake_flag()))
		count(ALYS_ST_LOST_STACK);
	else
		*known = w->rec.hash;
}

static __always_inline __u64 stack_mix(__u64 h, __u64 v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ (h >> 29);
}

/*
 * The kernel's own frame-pointer walk. At a function's entry the frame is not built yet, so it
 * skips the caller: the caller is put in by hand, and what the kernel found goes behind it.
 */
static __always_inline void walk_kernel(struct pt_regs *ctx, __u64 cfa, struct walk_slot *w)
{
	w->ips[0] = PT_REGS_IP(ctx);
	w->rec.n = 1;
	w->rec.end = ALYS_STOP_FAULT;
	if (bpf_probe_read_user(&w->ips[1], 8, (void *)(cfa - 8)))
		return;
	/* [0] is the probed address again. Newer kernels add the caller themselves. */
	long got = bpf_get_stack(ctx, &w->ips[2], 8 * (ALYS_MAX_FRAMES - 2), BPF_F_USER_STACK);
	w->rec.n = 2;
	w->rec.end = ALYS_STOP_UNKNOWN;
	if (got <= 8)
		return;
	__u32 n = (__u32)got / 8;
	__u32 skip = w->ips[3] == w->ips[1] ? 2 : 1;
	__u32 max = config.max_frames;
	for (__u32 i = 0; i < ALYS_MAX_FRAMES - 4; i++) {
		if (i + skip >= n || i + 2 >= max)
			break;
		w->ips[(2 + i) & (ALYS_MAX_FRAMES - 1)] =
			w->ips[(2 + i + skip) & (ALYS_MAX_FRAMES - 1)];
		w->rec.n = i + 3;
	}
}

static __always_inline __u64 stack_hash(const struct walk_slot *w, __u64 salt)
{
	__u64 h = stack_mix(0x243f6a8885a308d3ull, salt);
	for (__u32 i = 0; i < ALYS_MAX_FRAMES; i++) {
		if (i >= w->rec.n)
			break;
		h = stack_mix(h, w->ips[i]);
	}
	return h ? h : 1;
}

/* The call stack at a probe whose frame ends at cfa, as the hash that events carry; 0 = none. */
static __always_inline __u64 stack_take(struct pt_regs *ctx, const struct alys_target *t, __u64 cfa)
{
	if (!config.max_frames)
		return 0;
	__s32 slot = slot_claim();
	if (slot < 0) {
		count(ALYS_ST_NO_SLOT);
		return 0;
	}
	__u32 i = slot;
	__u64 hash = 0;
	struct walk_slot *w = bpf_map_lookup_elem(&walk_slots, &i);
	if (w) {
		walk_kernel(ctx, cfa, w);
		hash = stack_hash(w, bpf_get_current_pid_tgid() >> 32 ^ (__u64)t->gen << 32);
		w->rec.hash = hash;
		stack_send(w, t);
	}
	slot_release(i);
	return hash;
}

#endif
