// SPDX-License-Identifier: GPL-2.0-only
/*
 * BPF programs at calls of allocators, one for each kind of probe site. An entry is paired with its result by thread,
 * by frame, or, after a refill, not at all: see pair_by_*.bpf.h.
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
#include "gap.bpf.h"
#include "sample.bpf.h"
#include "stack.bpf.h"
#include "predict.bpf.h"
#include "registers.bpf.h"
#include "gc.bpf.h"
#include "return_address.bpf.h"
#include "caller.bpf.h"
#include "prove.bpf.h"
#include "learn.bpf.h"
#include "typed.bpf.h"
#include "nest.bpf.h"
#include "free.bpf.h"
#include "gc_number.bpf.h"
#include "entry.bpf.h"
#include "outcome.bpf.h"
#include "predict_cached.bpf.h"
#include "pair_by_thread.bpf.h"
#include "pair_by_frame.bpf.h"
#include "pair_by_refill.bpf.h"
#include "whole.bpf.h"
#include "note.bpf.h"
#include "resident.bpf.h"
#include "mapping.bpf.h"
#include "beam.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/*
 * Of a session. At an entry the thread is at the probed instruction, at a return behind the call. The kernel's own answer
 * (bpf_session_is_return) is a kfunc whose arguments changed in 7.0.
 */
static __always_inline bool is_return(struct pt_regs *ctx)
{
	if (bpf_core_field_exists(struct bpf_uprobe_multi_run_ctx, session_ctx)) {
		const struct bpf_uprobe_multi_run_ctx *h = hit_context(current_task());
		if (h)
			return h->session_ctx.is_return;
	}
	return PT_REGS_IP(ctx) != bpf_get_func_ip(ctx);
}

SEC("uprobe")
int call_session(struct pt_regs *ctx)
{
	keep_own_stack();
	if (is_return(ctx))
		return thread_return(ctx);
	return thread_enter(ctx);
}

SEC("uprobe")
int heapful_session(struct pt_regs *ctx)
{
	if (is_return(ctx))
		return beam_return();
	return beam_time(beam_take(ctx));
}

SEC("uprobe")
int plain_enter(struct pt_regs *ctx)
{
	keep_own_stack();
	thread_enter(ctx);
	return 0;
}

SEC("uprobe")
int plain_return(struct pt_regs *ctx)
{
	keep_own_stack();
	return thread_return(ctx);
}

SEC("uprobe")
int whole_call(struct pt_regs *ctx)
{
	keep_own_stack();
	return whole_take(ctx);
}

SEC("uprobe")
int whole_collected(struct pt_regs *ctx)
{
	keep_own_stack();
	return whole_take_collected(ctx);
}

SEC("uprobe")
int frame_enter(struct pt_regs *ctx)
{
	keep_own_stack();
	struct call_room *room = frame_begin(ctx);
	if (room) {
		call_walk_on(ctx, &room->now, slot_at(room->slot));
		frame_end(room);
	}
	return 0;
}

SEC("uprobe")
int refill(struct pt_regs *ctx)
{
	keep_own_stack();
	struct call_room *room = refill_begin(ctx);
	if (room) {
		call_walk(ctx, &room->now);
		refill_end(room);
	}
	return 0;
}

SEC("uprobe")
int frame_exit(struct pt_regs *ctx)
{
	keep_own_stack();
	return frame_return(ctx);
}

SEC("uprobe")
int frame_predict(struct pt_regs *ctx)
{
	return frame_note_prediction(ctx);
}

/* free: probed at its entry, before the allocator can reuse the address. */
SEC("uprobe")
int free_enter(struct pt_regs *ctx)
{
	keep_own_stack();
	const struct alys_site *site = wanted_site(ctx);
	/* Sampled blocks are known one by one: also those from before the process was known by its own probes. */
	if (!site || (!is_selective() && is_left_to_notes()))
		return 0;
	count(ALYS_ST_HIT_FREE);
	__u64 addr = argument(ctx, site->arg[0]);
	__u64 cfa = PT_REGS_SP(ctx) + site->cfa_off;
	if (!addr)
		count(ALYS_ST_FREE_NULL);
	else if ((is_selective() && !may_be_sampled(addr)) || is_counted_elsewhere(ctx, site))
		count(ALYS_ST_UNSAMPLED); /* nested calls, too */
	else
		free_take(ctx, site, addr, cfa);
	return 0;
}

SEC("uprobe")
int noted_alloc(struct pt_regs *ctx)
{
	keep_own_stack();
	struct call_room *room = noted_begin(ctx);
	if (!room)
		return 0;
	if (room->now.sampled)
		room->now.stack = noted_stack(ctx);
	return noted_end(room);
}

SEC("uprobe")
int noted_free(struct pt_regs *ctx)
{
	keep_own_stack();
	__u64 addr = noted_ended(ctx), begun = sample_begins();
	if (!addr)
		return 0;
	emit_free(addr, config.free_stacks ? noted_stack(ctx) : 0, 0);
	count_sample(begun);
	return 0;
}
