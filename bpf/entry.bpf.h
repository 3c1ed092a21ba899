/* SPDX-License-Identifier: GPL-2.0-only */
/* The entry of a call: is it wanted, its arguments, its stack. */
#ifndef ALYS_ENTRY_BPF_H
#define ALYS_ENTRY_BPF_H

static __always_inline void count_hit(__u8 shape)
{
	if (shape == ALYS_SHAPE_FREE)
		count(ALYS_ST_HIT_FREE);
	else if (shape == ALYS_SHAPE_REALLOC || shape == ALYS_SHAPE_MULREALLOC)
		count(ALYS_ST_HIT_REALLOC);
	else
		count(ALYS_ST_HIT_ALLOC);
}

static __always_inline void note_window(const struct alys_site *site, struct pending *p)
{
	if (config.windowed && site->flags & (ALYS_SITE_WINDOW | ALYS_SITE_DRAW_IN_WINDOW))
		p->flags |= ALYS_F_WINDOW;
}

static __always_inline void note_plain(struct pending *p)
{
	if (config.windowed && !p->collected)
		p->flags |= ALYS_F_PLAIN;
	if (config.no_frees && !p->collected)
		p->flags |= ALYS_F_UNFOLLOWED;
}

static __always_inline bool is_reallocation(__u8 shape)
{
	return shape == ALYS_SHAPE_REALLOC || shape == ALYS_SHAPE_MULREALLOC;
}

/* 0 on overflow: a C library returns NULL then, other allocators may return anything. */
static __always_inline __u64 product(__u64 a, __u64 b)
{
	if (!((a | b) >> 32) || !a)
		return a * b;
	__u64 most = ~0ull / a;
	barrier_var(most); /* otherwise the compiler makes it a product of 128 bits */
	return b <= most ? a * b : 0;
}

/* Bytes that the call asks for. */
static __always_inline __u64 size_asked(struct pt_regs *ctx, const struct alys_site *site)
{
	__u64 a = argument(ctx, site->arg[0]);
	if (site->shape == ALYS_SHAPE_SIZE || site->shape == ALYS_SHAPE_BATCH)
		return a;
	__u64 b = argument(ctx, site->arg[1]);
	if (site->shape == ALYS_SHAPE_MUL)
		return product(a, b);
	return site->shape == ALYS_SHAPE_MULREALLOC ? product(b, argument(ctx, site->arg[2])) : b;
}

static __always_inline void read_arguments(struct pt_regs *ctx, const struct alys_site *site, struct pending *p)
{
	__u64 a = argument(ctx, site->arg[0]);
	p->old = is_reallocation(site->shape) ? a : 0;
	p->out = site->shape == ALYS_SHAPE_OUTPTR ? a : 0;
	if (site->shape == ALYS_SHAPE_BATCH)
		p->out = argument(ctx, site->arg[1]);
	p->batch = 0;
	p->span = 0;
	p->shape = site->shape;
	p->frees_on_zero = !!(site->flags & ALYS_SITE_FREES_ON_ZERO);
	p->unfreed = !!(site->flags & ALYS_SITE_UNFREED);
	p->trial = !!(site->flags & ALYS_SITE_TRIAL);
	p->predicted = 0;
	p->below = 0;
	p->account = site->account;
	p->user = 0;
	p->throws = !!(site->flags & ALYS_SITE_THROWS);
	p->jumps = !!(site->flags & ALYS_SITE_JUMPS);
}

/* A block for the heap of an Erlang process is followed, because of calls below it, but not recorded. */
static __noinline int read_type(struct pt_regs *ctx, const struct alys_site *site, struct pending *p)
{
	p->memory = memory_typed(ctx, site);
	if (p->memory && is_own_type(site->object, p->memory))
		p->sampled = 0;
	return 0;
}

/* GC_malloc_kind's kinds 0 and 3: PTRFREE and AUNCOLLECTABLE (gc_priv.h). */
static __always_inline bool holds_no_pointers(__u32 kind)
{
	return kind == 0 || kind == 3;
}

static __always_inline bool is_atomic(struct pt_regs *ctx, const struct alys_site *site)
{
	if (!(site->flags & ALYS_SITE_GC_KIND))
		return site->flags & ALYS_SITE_ATOMIC;
	return holds_no_pointers(argument(ctx, site->kind_arg));
}

/* A list counts as one page, its usual size: the number of blocks is not known yet. */
static __always_inline __u64 weight_of(const struct alys_site *site, __u64 size)
{
	return site->shape == ALYS_SHAPE_BATCH ? ALYS_REFILL_SPAN : size;
}

/*
 * Comes first, because most calls end here when sampling. Bytes of calls that turn out to be nested count, too: points
 * that fall into them are dropped, and the points in the others are still a Poisson process.
 */
static __always_inline struct request call_request(struct pt_regs *ctx, const struct alys_site *site)
{
	struct request w = { .size = size_asked(ctx, site), .interval = NOT_SAMPLED };
	if (w.size >= config.min_size && may_draw(site))
		w.interval = config.interval ? sample_point(weight_of(site, w.size)) ?: NOT_SAMPLED : 0;
	w.enter = w.interval != NOT_SAMPLED ? sample_begins() : 0;
	return w;
}

/*
 * The outcome of this call does not matter. During a trial all calls are followed, because it ends after a thousand
 * calls, not samples.
 */
static __always_inline bool is_unwanted(struct pt_regs *ctx, const struct alys_site *site, const struct request *w)
{
	if (w->interval != NOT_SAMPLED || site->flags & ALYS_SITE_TRIAL)
		return false;
	__u64 old = is_reallocation(site->shape) && !config.no_frees ? argument(ctx, site->arg[0]) : 0;
	return !old || !sampled_has(old);
}

/* The same, no nested calls can follow, and no call waits in this frame. */
static __always_inline bool is_idle(struct pt_regs *ctx, const struct alys_site *site, const struct request *w, __u64 cfa)
{
	/* This call may refill a list, by which lists become known. */
	if (THREAD_POINTER_LATE && site->flags & ALYS_SITE_LISTS)
		return false;
	if (!(site->flags & ALYS_SITE_LEAF) || !is_unwanted(ctx, site, w))
		return false;
	struct call_key key = call_key(cfa);
	return !may_wait(&key);
}

/* Everything known at the entry, except the collector's counter and the stack. */
static __always_inline void call_read(struct pt_regs *ctx, const struct alys_site *site, const struct request *w,
				      struct pending *p, __u64 cfa)
{
	p->start = start_of(site, cfa);
	p->collected = site->nest == ALYS_NEST_CALLER;
	read_arguments(ctx, site, p);
	p->size = w->size;
	p->sampled = w->interval != NOT_SAMPLED;
	p->interval = p->sampled ? w->interval : 0;
	/* Read only if it will be compared, or windows ask for it: reading the clock costs as much as a map lookup. */
	p->enter = w->enter;
	if (!p->enter && (is_reallocation(p->shape) || is_selective()))
		p->enter = bpf_ktime_get_ns();
	p->flags = 0;
	p->stack = w->stack;
	p->memory = 0;
	if (site->typed)
		read_type(ctx, site, p);
	if (p->sampled) {
		if (is_atomic(ctx, site))
			p->flags = ALYS_F_ATOMIC;
		note_plain(p);
		note_window(site, p);
	}
}

static __always_inline void call_walk(struct pt_regs *ctx, struct pending *p)
{
	if (p->sampled && !p->stack)
		p->stack = stack_take(ctx, p->start, p->memory);
}

/* The same for a walk that has begun already, in two parts. */
static __always_inline void call_walk_on(struct pt_regs *ctx, const struct pending *p, struct walk_slot *w)
{
	if (w && p->sampled && !p->stack)
		stack_walk(ctx, p->start, w, p->memory);
}

static __always_inline void call_walked(struct pending *p, struct walk_slot *w)
{
	if (p->sampled && !p->stack)
		p->stack = stack_found(w);
	else
		stack_drop(w);
}

/* Last, so that an interrupting handler on this thread finds either all of it or nothing. */
static __always_inline void call_wait(struct pending *p, __u64 cfa)
{
	p->cfa = cfa;
	call_begun(p);
}

#endif
