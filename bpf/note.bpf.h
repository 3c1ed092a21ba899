/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A program's own probes (USDT): its sampler reports a block that it drew, and the end of one. Sampled there already, so
 * each is recorded, with the weight that the program gives. Such a probe lies anywhere in a function, not at its entry.
 */
#ifndef ALYS_NOTE_BPF_H
#define ALYS_NOTE_BPF_H

static __always_inline __u64 note_register(struct pt_regs *ctx, const struct alys_note_arg *a)
{
	return a->reg == ALYS_REG_SP ? PT_REGS_SP(ctx) : register_at(ctx, a->reg);
}

/* Keeps the argument's own bytes, as it says: with or without its sign. */
static __always_inline __u64 note_cut(const struct alys_note_arg *a, __u64 value)
{
	__u32 off = (64 - 8 * a->size) & 63;
	value <<= off;
	return a->is_signed ? (__u64)((__s64)value >> off) : value >> off;
}

/* False: not readable. An argument that the probe does not have is 0. */
static __noinline bool note_value(struct pt_regs *ctx, const struct alys_note_arg *a, __u64 *out)
{
	__u64 value = a->value;
	__u32 size = a->size;
	if (a->form == ALYS_NOTE_REGISTER)
		value = note_register(ctx, a);
	if (a->form == ALYS_NOTE_MEMORY) {
		__u64 from = note_register(ctx, a) + value;
		value = 0;
		if (size > sizeof(value) || bpf_probe_read_user(&value, size, (void *)from))
			return false;
	}
	*out = a->form == ALYS_NOTE_NONE ? 0 : note_cut(a, value);
	return true;
}

static __always_inline const struct alys_note *note_here(struct pt_regs *ctx)
{
	__u32 i = bpf_get_attach_cookie(ctx);
	return bpf_map_lookup_elem(&notes, &i);
}

static __noinline bool note_read(struct pt_regs *ctx, const struct alys_note *n, struct call_room *room)
{
	struct pending *p = &room->now;
	__u64 weight = 0;
	*p = no_call;
	if (!note_value(ctx, &n->arg[0], &room->result) || !note_value(ctx, &n->arg[1], &p->size) ||
	    !note_value(ctx, &n->arg[2], &weight))
		return false;
	/* Negative: not a size. Weighed, a single one would exceed all other samples. */
	if ((__s64)(p->size | weight) < 0)
		return false;
	p->sampled = p->size >= config.min_size;
	p->enter = is_selective() ? bpf_ktime_get_ns() : 0;
	note_plain(p);
	if (weight > p->size) {
		p->interval = weight;
		p->flags |= ALYS_F_WEIGHED;
	} else if (weight) {
		p->size = weight; /* a large block, where the sampler counts whole intervals: sums must be those of weights */
	}
	return true;
}

static __noinline struct call_room *noted_begin(struct pt_regs *ctx)
{
	if (!wanted_site(ctx))
		return NULL;
	count(ALYS_ST_HIT_ALLOC);
	const struct alys_note *n = note_here(ctx);
	struct call_room *room = n ? thread_room() : NULL;
	if (!room) {
		count_loss(ALYS_ST_LOST_PENDING);
		return NULL;
	}
	if (!note_read(ctx, n, room)) {
		count_loss(ALYS_ST_LOST_READ);
		return NULL;
	}
	return room;
}

static __noinline int noted_end(struct call_room *room)
{
	if (room->result)
		finish_alloc(&room->now, room->result);
	else
		count(ALYS_ST_FAILED);
	count_sample(room->now.enter);
	return 0;
}

/* The block that ends here; 0: none that was recorded. */
static __noinline __u64 noted_ended(struct pt_regs *ctx)
{
	if (!wanted_site(ctx))
		return 0;
	count(ALYS_ST_HIT_FREE);
	const struct alys_note *n = note_here(ctx);
	__u64 addr = 0;
	if (!n || !note_value(ctx, &n->arg[0], &addr)) {
		count_loss(ALYS_ST_LOST_READ);
		return 0;
	}
	if (!addr) {
		count(ALYS_ST_FREE_NULL);
		return 0;
	}
	if (is_selective() && !sampled_del(addr, ~0ull)) {
		count(ALYS_ST_UNSAMPLED);
		return 0;
	}
	return addr;
}

/* By frame pointers from the probe's own function on, which has set up its frame. */
static __noinline __u64 noted_stack_kernel(struct pt_regs *ctx)
{
	struct walk_slot *w = stack_slot();
	if (!w)
		return stack_missing();
	long got = bpf_get_stack(ctx, w->ips, 8 * KERNEL_FRAMES, BPF_F_USER_STACK);
	__u32 max = config.max_frames, n = got > 0 ? (__u32)got / 8 : 0;
	slot_renew(w);
	w->rec.hash = stack_owner();
	w->rec.memory = 0;
	w->rec.n = n < max ? n : max;
	w->rec.end = n < max ? ALYS_STOP_UNKNOWN : ALYS_STOP_TRUNCATED;
	hash_frames(w);
	return walk_finish(w);
}

static __always_inline __u64 noted_stack(struct pt_regs *ctx)
{
	return config.walk == ALYS_WALK_KERNEL ? noted_stack_kernel(ctx) : stack_take_anywhere(ctx, 0);
}

#endif
