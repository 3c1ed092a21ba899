/* SPDX-License-Identifier: GPL-2.0-only */
/* Does a call of free come from the program, or from the allocator, within free or when a thread ends? */
#ifndef ALYS_FREE_BPF_H
#define ALYS_FREE_BPF_H

/* Maximum distance of a block from its interposer's header. */
#define HEADER_SPAN 4096

static __always_inline bool is_own_free(const struct alys_object *o, __u64 caller)
{
	for (int i = 0; i < ALYS_MAX_OWN_FREES && o->own_frees[i]; i++) {
		if (o->own_frees[i] == caller)
			return true;
	}
	return false;
}

/*
 * Was this free called by the thread's previous one (another function)? Either by a tail call, which keeps the frame,
 * or by a call from that function's file, while its return address is still in place.
 */
static __always_inline bool is_passed_on(const struct freeing *f, __u64 entry, __u64 cfa, __u64 caller, __u64 addr)
{
	if (!f->cfa || f->entry == entry || !f->caller)
		return false;
	if (f->cfa == cfa)
		return f->caller == caller && f->addr - addr <= HEADER_SPAN;
	return f->cfa > cfa && f->cfa - cfa < NEST_SPAN && caller >= f->code_lo && caller < f->code_hi &&
	       is_kept(f->cfa, f->caller);
}

/* t: NULL if no call of the thread can matter. False: internal to the allocator. Otherwise the call is noted, to recognize those that it makes itself. */
static __always_inline bool is_programs_free(struct pt_regs *ctx, const struct alys_site *site, __u64 caller,
					     struct thread_call *t)
{
	const struct alys_object *o = object_of(site);
	__u64 cfa = PT_REGS_SP(ctx) + site->cfa_off, addr = argument(ctx, site->arg[0]);
	if (!o || !caller || site->flags & ALYS_SITE_OPEN)
		return true;
	__u64 bias = bias_of(ctx, site);
	if (is_own_free(o, caller - bias)) {
		count(ALYS_ST_THREAD_CACHE);
		return false;
	}
	if (!t)
		return true;
	struct freeing *f = &t->freed;
	if (is_passed_on(f, PT_REGS_IP(ctx), cfa, caller, addr)) {
		count(ALYS_ST_NESTED);
		return false;
	}
	*f = (struct freeing){
		.cfa = cfa,
		.caller = caller,
		.addr = addr,
		.entry = PT_REGS_IP(ctx),
		.code_lo = o->code.lo + bias,
		.code_hi = o->code.hi + bias,
	};
	return true;
}

/* w: of the walk that it begins, NULL: none. The caller is read through its window, so that memory is read only once. */
static __always_inline bool is_wanted_free(struct pt_regs *ctx, const struct alys_site *site, struct walk_slot **w)
{
	__u64 cfa = PT_REGS_SP(ctx) + site->cfa_off;
	bool asks = !is_selective() || site->nest == ALYS_NEST_CALLER;
	*w = config.free_stacks ? stack_begin(ctx, start_of(site, cfa)) : NULL;
	__u64 caller = asks ? caller_of(cfa, LINK_REGISTER(ctx), *w) : 0;
	struct thread_call *t = frees_nest || thread_may_wait() ? thread_call(!is_selective()) : NULL;
	if (is_nested_in(ctx, site, cfa, caller, t)) {
		count(ALYS_ST_NESTED);
		return false;
	}
	if (!is_selective())
		return is_programs_free(ctx, site, caller, t);
	bool known = sampled_del(argument(ctx, site->arg[0]), ~0ull);
	if (!known)
		count(ALYS_ST_UNSAMPLED);
	return known;
}

static __always_inline void free_take(struct pt_regs *ctx, const struct alys_site *site, __u64 addr, __u64 cfa)
{
	__u64 begun = sample_begins();
	struct walk_slot *w;
	if (is_wanted_free(ctx, site, &w))
		emit_free(addr, config.free_stacks ? stack_end(ctx, start_of(site, cfa), w, 0) : 0, 0);
	else
		stack_drop(w);
	count_sample(begun);
}

#endif
