/* SPDX-License-Identifier: GPL-2.0-only */
/* Reserve, fill, submit. A record is complete or absent; an absent one is counted by kind. */
#ifndef ALYS_EMIT_BPF_H
#define ALYS_EMIT_BPF_H

#include "gc_maps.bpf.h"
#include "ring.bpf.h"

/* Records of a kind that a processor sends before it asks again how full the ring is. A power of two. */
#define WAKE_RECORDS 16

/*
 * A wake-up costs the traced thread over 2 us, so the reader polls and is woken only when the ring fills faster than it
 * polls. n: number of the record, on its processor.
 */
static __always_inline bool wakes(__u64 n)
{
	struct alys_ring *r = n & (WAKE_RECORDS - 1) ? NULL : ring_of_records();
	return r && ring_fill(r) >= (__s64)config.wake_bytes;
}

#ifndef ALYS_NO_KFUNCS
extern void bpf_preempt_disable(void) __ksym __weak; /* 6.10, commit fc7566ad0a82 */
extern void bpf_preempt_enable(void) __ksym __weak;
#else
static void (*const bpf_preempt_disable)(void) = 0;
static void (*const bpf_preempt_enable)(void) = 0;
#endif

static __always_inline void preempt_off(void)
{
	if (config.preempt_off && bpf_preempt_disable)
		bpf_preempt_disable();
}

static __always_inline void preempt_on(void)
{
	if (config.preempt_off && bpf_preempt_enable)
		bpf_preempt_enable();
}

/*
 * For records of calls, the most frequent ones. The reader waits for a record that is reserved and not submitted, and so for all that
 * follow: nothing preempts the task until call_submit. NULL: the ring is full.
 */
static __always_inline void *call_reserve(__u64 size)
{
	preempt_off();
	void *e = ring_reserve(size);
	if (!e)
		preempt_on();
	return e;
}

static __always_inline void call_submit(void *e, __u32 size, bool wake)
{
	ring_submit(e, size, wake);
	preempt_on();
}

static __always_inline void head_fill(struct alys_head *h, __u8 kind)
{
	__u64 id = current_numbers();
	h->kind = kind;
	h->flags = 0;
	h->held = 0;
	h->subject = ALYS_SUBJECT_ALLOCATIONS;
	h->tgid = id >> 32;
	h->tid = (__u32)id;
	h->gc_no = 0;
	h->time = bpf_ktime_get_ns();
}

static __always_inline void emit_free(__u64 addr, __u64 stack, __u64 time)
{
	struct alys_ev_free *e = call_reserve(sizeof(*e));
	if (!e) {
		count_loss(ALYS_ST_LOST_RING_FREE);
		return;
	}
	head_fill(&e->h, ALYS_EV_FREE);
	if (time)
		e->h.time = time;
	e->addr = addr;
	e->stack = stack;
	call_submit(e, sizeof(*e), wakes(count(ALYS_ST_REC_FREE)));
}

static __always_inline void alloc_fill(struct alys_ev_alloc *e, __u8 kind, const struct pending *p, __u64 addr)
{
	head_fill(&e->h, kind);
	e->h.flags = p->flags;
	e->h.gc_no = p->gc_no;
	e->addr = addr;
	e->size = p->size;
	e->stack = p->stack;
	e->interval = p->interval;
	e->batch = p->batch;
	e->span = p->span;
}

#define WRITTEN() asm volatile("" ::: "memory") /* compiler barrier; x86 itself keeps stores in order */

/* Global, so that it is verified once. */
__weak int log_object(__u64 addr)
{
	__u64 n = __sync_fetch_and_add(&object_log_cnt, 1);
	__u32 i = n & (ALYS_OBJECT_LOG_SLOTS - 1);
	struct alys_sampled_object *b = bpf_map_lookup_elem(&object_log, &i);
	if (!b)
		return 0;
	b->number = 0;
	WRITTEN();
	b->addr = addr;
	b->time = bpf_ktime_get_ns();
	b->tgid = current_tgid();
	WRITTEN();
	b->number = n + 1;
	return 0;
}

/* Before the record: objects whose records precede a collection in the ring must be in the log when it ends. */
static __always_inline void note_object(const struct pending *p, __u64 addr)
{
	if (config.interval && p->flags & ALYS_F_GC && addr)
		log_object(addr);
}

static __always_inline void emit_alloc(const struct pending *p, __u64 addr)
{
	note_object(p, addr);
	struct alys_ev_alloc *e = call_reserve(sizeof(*e));
	if (!e) {
		count_loss(ALYS_ST_LOST_RING_ALLOC);
		return;
	}
	alloc_fill(e, ALYS_EV_ALLOC, p, addr);
	call_submit(e, sizeof(*e), wakes(count(ALYS_ST_REC_ALLOC)));
}

static __always_inline void emit_realloc(const struct pending *p, __u64 addr, __u64 old)
{
	note_object(p, addr);
	struct alys_ev_realloc *e = call_reserve(sizeof(*e));
	if (!e) {
		count_loss(ALYS_ST_LOST_RING_REALLOC);
		return;
	}
	alloc_fill(&e->a, ALYS_EV_REALLOC, p, addr);
	e->old = old;
	e->enter = p->enter;
	call_submit(e, sizeof(*e), wakes(count(ALYS_ST_REC_REALLOC)));
}

/*
 * held: number of the ring through which the thread will be stopped, see struct alys_hold; 0 = none. False if the
 * record is lost. wake: probes or tables wait for the reader; it costs the program up to 20 us, which
 * servers with a process a connection should not pay when one comes and when it goes.
 */
static __always_inline bool emit_proc_at(__u8 kind, __u64 other, __u64 time, __u8 held, bool wake)
{
	struct alys_ev_proc *e = ring_reserve(sizeof(*e));
	if (!e) {
		count(ALYS_ST_LOST_PROC);
		return false;
	}
	head_fill(&e->h, kind);
	e->h.held = held;
	e->h.time = time;
	e->other = other;
	ring_submit(e, sizeof(*e), wake);
	return true;
}

static __always_inline void emit_proc(__u8 kind, __u64 other, bool wake)
{
	emit_proc_at(kind, other, bpf_ktime_get_ns(), 0, wake);
}

#endif
