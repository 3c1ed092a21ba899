// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs for testing and benchmarking the stack walk: they include the same source as the allocation programs and copy
 * the walk's input, or perform a single part of the work each.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "alys.h"
#include "task.bpf.h"
#include "own_stack.bpf.h"
#include "maps.bpf.h"
#include "numbers.bpf.h"
#include "stats.bpf.h"
#include "hit.bpf.h"
#include "filter.bpf.h"
#include "emit.bpf.h"
#include "stack.bpf.h"
#include "registers.bpf.h"
#include "snap.h"

char LICENSE[] SEC("license") = "GPL";

const volatile struct snap_config snap_config = {};
struct snap_counts counts = {};

/* Copies of the walks' inputs, written by `check` and read by the test. When full, copies are dropped and counted. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 20);
} snaps SEC(".maps");

static __always_inline void copy_stack(struct snap *s, __u64 sp)
{
	s->stack_at = sp & ~4095ull;
	s->pages = 0;
	for (int i = 0; i < SNAP_PAGES; i++) {
		if (bpf_probe_read_user(s->stack[i], 4096, (void *)(s->stack_at + 4096ull * i)))
			break;
		s->pages = i + 1;
	}
}

static __noinline int snap_send(struct pt_regs *ctx, const struct walk_slot *w)
{
	struct snap *s = bpf_ringbuf_reserve(&snaps, sizeof(*s), 0);
	if (!s) {
		__sync_fetch_and_add(&counts.ring_full, 1);
		return 0;
	}
	SNAP_COPY_REGS(s, ctx);
	copy_stack(s, PT_REGS_SP(ctx));
	for (int i = 0; i < ALYS_MAX_FRAMES; i++)
		s->ips[i] = w->ips[i];
	s->hash = w->rec.hash;
	s->missed = w->s.missed;
	s->n = w->rec.n;
	s->end = w->rec.end;
	s->tgid = bpf_get_current_pid_tgid() >> 32;
	s->tid = bpf_get_current_pid_tgid();
	s->pad = 0;
	bpf_ringbuf_submit(s, 0);
	return 0;
}

static __always_inline struct walk_start start_here(struct pt_regs *ctx)
{
	return (struct walk_start){ .cfa = PT_REGS_SP(ctx) + snap_config.cfa_off, .fp_off = snap_config.fp_off };
}

static __noinline int snap_take(struct pt_regs *ctx, const struct walk_slot *w)
{
	__sync_fetch_and_add(&counts.frames, w->rec.n);
	if (w->s.missed)
		__sync_fetch_and_add(&counts.fresh, 1);
	else
		__sync_fetch_and_add(&counts.ends[w->rec.end & 15], 1);
	if (__sync_fetch_and_add(&counts.walks, 1) % snap_config.every == 0)
		snap_send(ctx, w);
	return 0;
}

/* Of a known stack only the hash was found. */
static __always_inline void walk_again(struct pt_regs *ctx, struct walk_start at, struct walk_slot *w)
{
	__u64 known = w->rec.hash;
	walk_begin(ctx, w, at, stack_owner());
	w->m.kept = 0;
	walk_tables(w);
	__sync_fetch_and_add(&counts.known, 1);
	if (w->rec.hash != known)
		__sync_fetch_and_add(&counts.differ, 1);
}

/* Walks and sends a snapshot. Used by two programs, because sleepable ones are loaded differently. */
static __always_inline int check_stack(struct pt_regs *ctx)
{
	if (!is_target() || (snap_config.size && argument(ctx, 0) != snap_config.size))
		return 0;
	struct walk_start at = start_here(ctx);
	struct walk_slot *w = stack_begin(ctx, at);
	if (!w) {
		__sync_fetch_and_add(&counts.no_slot, 1);
		return 0;
	}
	stack_walk(ctx, at, w, 0);
	if (w->s.known)
		walk_again(ctx, at, w);
	snap_take(ctx, w);
	stack_result(w);
	return 0;
}

SEC("uprobe")
int check(struct pt_regs *ctx)
{
	keep_own_stack();
	return check_stack(ctx);
}

SEC("uprobe.s")
int check_sleep(struct pt_regs *ctx)
{
	keep_own_stack();
	return check_stack(ctx);
}

/* A return probe that does nothing but replace a return address on the stack. */
SEC("uprobe")
int pending(struct pt_regs *ctx)
{
	return 0;
}

/* For price.c: an empty program, an event, a walk, and a walk that is sent if new with an event. */
SEC("uprobe")
int price_empty(struct pt_regs *ctx)
{
	return is_target() ? 0 : 1;
}

SEC("uprobe")
int price_event(struct pt_regs *ctx)
{
	if (is_target())
		emit_free(argument(ctx, 0), 0, 0);
	return 0;
}

/* As if the loader had the stack: sending it is no part of this price. */
static __always_inline void walk_remember(struct walk_slot *w)
{
	w->s.walked = w->rec.hash;
	w->s.sent = stack_mark(stack_hash(w));
	if (config.recall && !w->s.known && w->s.learns)
		known_learn(w->number);
}

SEC("uprobe")
int price_walk(struct pt_regs *ctx)
{
	keep_own_stack();
	struct walk_start at = start_here(ctx);
	struct walk_slot *w = is_target() ? stack_begin(ctx, at) : NULL;
	if (w) {
		stack_walk(ctx, at, w, 0);
		walk_remember(w);
		slot_release(w);
	}
	return 0;
}

/* Only the kernel's walk. */
SEC("uprobe")
int price_get_stack(struct pt_regs *ctx)
{
	struct walk_slot *w = is_target() ? slot_claim() : NULL;
	if (w) {
		bpf_get_stack(ctx, w->window, 8 * KERNEL_FRAMES, BPF_F_USER_STACK);
		slot_release(w);
	}
	return 0;
}

SEC("uprobe")
int price_take(struct pt_regs *ctx)
{
	keep_own_stack();
	if (is_target())
		emit_free(argument(ctx, 0), stack_take(ctx, start_here(ctx), 0), 0);
	return 0;
}
