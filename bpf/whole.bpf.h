/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls that are seen whole, in exact recordings: at one instruction registers have the arguments and the block. Nothing waits, and
 * without another call that does, the thread's storage is not looked up.
 */
#ifndef ALYS_WHOLE_BPF_H
#define ALYS_WHOLE_BPF_H

/* Another call of this thread waits: is this one part of it? If not, that one was left, or has jumped here. */
static __noinline bool whole_is_inside(struct pt_regs *ctx, const struct alys_site *site, __u64 cfa, struct request *w)
{
	struct thread_call *t = thread_call(false);
	if (!t)
		return false;
	if (is_inside(ctx, t, cfa))
		return true;
	thread_replace(&t->call, site, cfa, w, LINK_REGISTER(ctx));
	thread_note(t);
	return false;
}

/* Of a collector: the call that waits in this frame was left, or has jumped here. */
static __always_inline void whole_replace(const struct alys_site *site, __u64 cfa, struct request *w, __u64 link)
{
	struct call_key key = call_key(cfa);
	if (may_wait(&key))
		frame_replace(&key, site, w, link);
}

/* The list has no block, and the call goes on: it comes here again, or is seen in another function. */
static __always_inline bool whole_goes_on(struct pt_regs *ctx, const struct alys_site *site, __u64 block)
{
	const struct alys_object *o = site->flags & ALYS_SITE_TAKES ? object_of(site) : NULL;
	return o && block <= o->lists.top;
}

/* What is known of it beside its stack. */
static __always_inline struct pending whole_call_of(struct pt_regs *ctx, const struct alys_site *site, __u64 cfa,
						    const struct request *w, bool collects)
{
	struct pending p = {
		.size = w->size,
		.sampled = 1,
		.stack = w->stack,
		.start = start_of(site, cfa),
		.collected = collects,
	};
	if (collects) {
		p.flags = is_atomic(ctx, site) ? ALYS_F_ATOMIC : 0;
		read_gc(ctx, site, &p, true);
	}
	if (is_selective())
		p.enter = bpf_ktime_get_ns();
	note_plain(&p);
	return p;
}

static __always_inline int whole_finish(const struct pending *p, __u64 block)
{
	if (block)
		finish_alloc(p, block);
	else
		count(ALYS_ST_FAILED);
	return 0;
}

static __always_inline int whole_pass(struct walk_slot *w, bool nested)
{
	count(nested ? ALYS_ST_NESTED : ALYS_ST_UNSAMPLED);
	stack_drop(w);
	return 0;
}

/* Of a plain allocator. */
static __always_inline int whole_take(struct pt_regs *ctx)
{
	const struct alys_site *site = wanted_call(ctx);
	if (!site)
		return 0;
	count(ALYS_ST_HIT_ALLOC);
	__u64 cfa = PT_REGS_SP(ctx) + site->cfa_off;
	struct request w = call_request(ctx, site);
	bool nested = thread_may_wait() && whole_is_inside(ctx, site, cfa, &w);
	if (nested || w.interval == NOT_SAMPLED)
		return whole_pass(NULL, nested);
	struct pending p = whole_call_of(ctx, site, cfa, &w, false);
	call_walk(ctx, &p);
	return whole_finish(&p, register_of(ctx, site));
}

/* Of a collector: the caller, too, is read through the walk's window. */
static __always_inline int whole_take_collected(struct pt_regs *ctx)
{
	const struct alys_site *site = wanted_call(ctx);
	__u64 block = site ? register_of(ctx, site) : 0;
	if (!site || whole_goes_on(ctx, site, block))
		return 0;
	count(ALYS_ST_HIT_ALLOC);
	__u64 cfa = PT_REGS_SP(ctx) + site->cfa_off;
	struct request w = call_request(ctx, site);
	whole_replace(site, cfa, &w, LINK_REGISTER(ctx));
	struct walk_slot *walk = w.interval != NOT_SAMPLED ? stack_begin(ctx, start_of(site, cfa)) : NULL;
	bool nested = is_internal(ctx, site, caller_of(cfa, LINK_REGISTER(ctx), walk));
	if (nested || w.interval == NOT_SAMPLED)
		return whole_pass(walk, nested);
	struct pending p = whole_call_of(ctx, site, cfa, &w, true);
	call_walk_on(ctx, &p, walk);
	call_walked(&p, walk);
	return whole_finish(&p, block);
}

#endif
