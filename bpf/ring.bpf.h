/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The writing end of the ring of records (struct alys_ring). The kernel's own ring buffer takes a lock and two calls for each record, which
 * cost as much as a tenth of a probe; this one takes an atomic instruction. Entries are in the order of their reservation.
 */
#ifndef ALYS_RING_BPF_H
#define ALYS_RING_BPF_H

#include "machine.bpf.h"

#define RING_FULL (~0ull)
#define RING_TAKEN (~0ull - 1) /* another processor was faster */
#define RING_TRIES 1024
#define RING_TRIES_UNROLLED 64 /* on kernels without bpf_loop */

static __always_inline struct alys_ring *ring_of_records(void)
{
	__u32 first = 0;
	return bpf_map_lookup_elem(&events, &first);
}

/* What is read of the two positions need not fit together: a difference may be below 0. */
static __always_inline __s64 ring_fill(struct alys_ring *r)
{
	return *(volatile __u64 *)&r->written - *(volatile __u64 *)&r->read;
}

/* Position of n bytes that are ours now, or RING_*. */
static __always_inline __u64 ring_take(struct alys_ring *r, __u64 n)
{
	__u64 read = *(volatile __u64 *)&r->read, at = *(volatile __u64 *)&r->written;
	if ((__s64)(at + n - read) > (__s64)config.ring_sz)
		return RING_FULL;
	return __sync_val_compare_and_swap(&r->written, at, at + n) == at ? at : RING_TAKEN;
}

struct ring_try {
	__u64 n, at;
};

static long ring_try(__u32 i, struct ring_try *t)
{
	struct alys_ring *r = ring_of_records();
	t->at = r ? ring_take(r, t->n) : RING_FULL;
	return t->at != RING_TAKEN;
}

/* Of processors that all write one comes first in each round. Not global: without preemption such are called since 6.15 only. */
static __noinline __u64 ring_take_again(__u64 n)
{
	struct ring_try t = { .n = n, .at = RING_TAKEN };
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop)) {
		bpf_loop(RING_TRIES, ring_try, &t, 0);
	} else {
		for (int i = 0; i < RING_TRIES_UNROLLED && !ring_try(i, &t); i++)
			;
	}
	return t.at == RING_TAKEN ? RING_FULL : t.at;
}

/* Room for a record of n bytes, until ring_submit; NULL: the ring is full, or too many write to it. */
static __always_inline void *ring_reserve(__u64 n)
{
	struct alys_ring *r = ring_of_records();
	if (!r)
		return NULL;
	__u64 at = ring_take(r, ALYS_RING_ENTRY(n));
	if (at == RING_TAKEN)
		at = ring_take_again(ALYS_RING_ENTRY(n));
	return at == RING_FULL ? NULL : r->bytes + (at & (config.ring_sz - 8)) + 8;
}

static __always_inline void ring_call(void)
{
	__u64 nothing = 0;
	bpf_ringbuf_output(&event_calls, &nothing, sizeof(nothing), BPF_RB_FORCE_WAKEUP);
}

/* n: bytes of the record, as reserved. */
static __always_inline void ring_submit(void *record, __u32 n, bool call)
{
	word_publish(record - 8, n);
	if (call)
		ring_call();
}

#endif
