/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Collections of Boehm's collector, observed in its own code: their start, the end of marking (the world is still
 * stopped), and their end. Out: records in the ring, and a wake-up for the mark reader: as soon as possible, but not for
 * nothing, because it costs the program some 20 us, and small heaps are collected hundreds of times a second.
 *
 * Part of alloc.bpf.c: libbpf's linker cannot join two objects that both refer to the stack walk's optional kfuncs.
 */
#ifndef ALYS_GC_BPF_H
#define ALYS_GC_BPF_H

#include "gc_maps.bpf.h"

#define SIGSTOP 19

static __always_inline const struct alys_gc_site *wanted_gc_site(void *ctx)
{
	const struct alys_gc_site *site = wanted_of(bpf_get_attach_cookie(ctx), &gc_sites);
	if (config.windowed && site) {
		count(ALYS_ST_TRAPS);
		count(ALYS_ST_TRAPS_GC);
		charge_trap();
	}
	return site;
}

static const struct gc_state no_state;

static __always_inline struct gc_state *gc_state_now(bool make)
{
	__u32 tgid = current_tgid();
	struct gc_state *s = bpf_map_lookup_elem(&gc_states, &tgid);
	if (s || !make)
		return s;
	bpf_map_update_elem(&gc_states, &tgid, &no_state, BPF_NOEXIST);
	return bpf_map_lookup_elem(&gc_states, &tgid);
}

static __always_inline void gc_begun(struct gc_state *s, __u64 now)
{
	s->serial++;
	s->begun = now;
	s->stack = 0;
	s->pending = 0;
	s->era = gc_era;
}

static __always_inline void gc_fill(struct alys_ev_gc *e, __u8 kind, const struct gc_state *s)
{
	head_fill(&e->h, kind);
	e->h.flags = ALYS_F_GC;
	e->h.gc_no = s->gc_no;
	e->serial = s->serial;
	e->begun = s->begun;
	e->marked = s->marked;
	e->stack = s->stack;
}

static __always_inline void gc_send(__u8 kind, const struct gc_state *s, __u8 flags)
{
	struct alys_ev_gc *e = ring_reserve(sizeof(*e));
	if (!e) {
		count(ALYS_ST_LOST_GC);
		return;
	}
	gc_fill(e, kind, s);
	e->h.flags |= flags;
	ring_submit(e, sizeof(*e), wakes(0));
}

static __always_inline void gc_call_begun(const struct gc_state *s)
{
	struct alys_ev_gc *e = bpf_ringbuf_reserve(&gc_wakes, sizeof(*e), 0);
	if (!e)
		return;
	gc_fill(e, ALYS_EV_GC_BEGUN, s);
	bpf_ringbuf_submit(e, BPF_RB_FORCE_WAKEUP);
}

static __noinline struct gc_state *begin(struct pt_regs *ctx)
{
	const struct alys_gc_site *site = wanted_gc_site(ctx);
	struct gc_state *s = site ? gc_state_now(true) : NULL;
	if (site && !s)
		count(ALYS_ST_GC_NO_ROOM);
	if (!s)
		return NULL;
	/* First: a mark reader at work must notice that the marks are about to be cleared. */
	gc_begun(s, bpf_ktime_get_ns());
	s->frame = PT_REGS_SP(ctx) + site->cfa_off;
	if (gc_wake_begins)
		gc_call_begun(s);
	return s;
}

SEC("uprobe")
int gc_begin(struct pt_regs *ctx)
{
	keep_own_stack();
	struct gc_state *s = begin(ctx);
	if (!s)
		return 0;
	s->stack = stack_take(ctx, (struct walk_start){ .cfa = s->frame }, 0);
	charge_collection(s->begun);
	return 0;
}

static __always_inline bool read_gc_no(__u64 *out, struct pt_regs *ctx, const struct alys_gc_site *site)
{
	return !bpf_probe_read_user(out, sizeof(*out), (void *)(site->gc_no_vaddr + PT_REGS_IP(ctx) - site->vaddr));
}

/* After each instruction that increments the counter; a path over two of them counts once, since the number is compared. */
SEC("uprobe")
int gc_mark(struct pt_regs *ctx)
{
	const struct alys_gc_site *site = wanted_gc_site(ctx);
	struct gc_state *s = site ? gc_state_now(true) : NULL;
	__u64 gc_no;
	if (!s || !read_gc_no(&gc_no, ctx, site) || s->gc_no == (__u32)gc_no)
		return 0;
	/* Its begin was not seen. */
	if (s->era != gc_era)
		gc_begun(s, 0);
	s->gc_no = gc_no;
	__sync_fetch_and_add(&gc_epoch, 1);
	s->marked = bpf_ktime_get_ns();
	s->pending = 1;
	gc_send(ALYS_EV_GC_MARKED, s, 0);
	charge_collection(s->marked);
	return 0;
}

/* The log may grow meanwhile: by objects that this collection has not seen. */
static __always_inline bool gc_is_idle(void)
{
	__u32 tgid = current_tgid();
	const struct alys_gc_idle *i = config.interval && !config.stop_at_gc ? bpf_map_lookup_elem(&gc_idle, &tgid) : NULL;
	return i && i->logged == *(volatile __u64 *)&object_log_cnt && bpf_ktime_get_ns() < i->until_ns;
}

/*
 * With stop_at_gc the process gets SIGSTOP: before the mark reader is woken, so that its SIGCONT cannot come first, and
 * only if the wake-up has room in its ring and the loader is alive, since otherwise nobody would resume the process.
 */
static __always_inline void gc_call_over(struct gc_state *s)
{
	struct alys_ev_gc *e = bpf_ringbuf_reserve(&gc_wakes, sizeof(*e), 0);
	if (!e)
		return;
	gc_fill(e, ALYS_EV_GC_DONE, s);
	if (config.stop_at_gc && e->h.time < gc_stop_until && !bpf_send_signal(SIGSTOP))
		s->stop = e->h.time | 1;
	bpf_ringbuf_submit(e, BPF_RB_FORCE_WAKEUP);
}

/*
 * The allocation lock is still held, so no other collection can begin before this thread continues. The mark reader is
 * woken before the record can be read: who reads that knows that the wake-up was sent, or never will be.
 */
SEC("uprobe")
int gc_end(struct pt_regs *ctx)
{
	const struct alys_gc_site *site = wanted_gc_site(ctx);
	struct gc_state *s = site ? gc_state_now(false) : NULL;
	if (!s || !s->pending || s->era != gc_era)
		return 0;
	s->pending = 0;
	__u64 begun = sample_begins();
	bool idle = gc_is_idle();
	if (!idle)
		gc_call_over(s);
	gc_send(ALYS_EV_GC_DONE, s, idle ? ALYS_F_IDLE : 0);
	charge_collection(begun);
	return 0;
}

#endif
