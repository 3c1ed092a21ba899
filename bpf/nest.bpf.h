/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Nested calls: which call is the program's own, which one was reached by a tail call from another, and which one was
 * left unnoticed. The plain call that a thread is in is kept in its task storage; calls paired by frame wait in
 * frame_calls.
 */
#ifndef ALYS_NEST_BPF_H
#define ALYS_NEST_BPF_H

/*
 * More calls than this below one call mean that it was left by a jump: allocators make few calls themselves, even while
 * they initialize.
 */
#define NEST_CALLS 256

/* Not a waiting call, only a mark that this thread is inside one that is paired by frame. */
#define SHAPE_MARK 0

/* The requested size, and whether the call is sampled. */
struct request {
	__u64 size;
	__u64 interval; /* with which it was sampled, 0 = exact; or NOT_SAMPLED */
	__u64 stack;    /* 0 = not taken yet */
	__u64 enter;    /* when the work for its sample began, 0 = not asked */
};

#define NOT_SAMPLED ~0ull

static __always_inline struct alys_calls *calls_of(const struct pending *p)
{
	__u32 i = p->account;
	return bpf_map_lookup_elem(&calls, &i);
}

static __always_inline void call_begun(const struct pending *p)
{
	struct alys_calls *c = calls_of(p);
	if (c)
		__sync_fetch_and_add(&c->begun, 1);
}

static __always_inline void call_ended(const struct pending *p)
{
	struct alys_calls *c = calls_of(p);
	if (c)
		__sync_fetch_and_add(&c->ended, 1);
}

/* The call's exit was not seen. An operator new all of whose exits are probed has thrown. */
static __noinline int call_lost(struct pending *p)
{
	struct alys_calls *c = calls_of(p);
	bool waits = p->cfa && p->shape != SHAPE_MARK;
	p->cfa = 0;
	if (!waits)
		return 0;
	call_ended(p);
	if (p->throws) {
		count(ALYS_ST_FAILED);
		return 0;
	}
	if (c)
		__sync_fetch_and_add(&c->lost, 1);
	count_loss(ALYS_ST_LOST_NO_RETURN);
	count_lost_call(p->account);
	return 0;
}

static __always_inline struct call_key call_key(__u64 cfa)
{
	return (struct call_key){ .cfa = cfa, .tgid = current_tgid() };
}

static __always_inline __u64 frame_slot(const struct call_key *key)
{
	__u64 i = ALYS_FRAME_MARK_OF(key->cfa, key->tgid);
	barrier_var(i);
	return i & ((1 << ALYS_FRAME_MARK_BITS) - 1);
}

static __always_inline __u32 *frame_mark(const struct call_key *key)
{
	return &frame_marks[frame_slot(key)];
}

/* When sampling, calls rarely wait: one word, mostly in the CPU's cache, saves the map lookup. */
static __always_inline bool may_wait(const struct call_key *key)
{
	return *frame_mark(key);
}

/* The call that waits in this frame. */
static __always_inline struct pending *frame_find(const struct call_key *key)
{
	return may_wait(key) ? bpf_map_lookup_elem(&frame_calls, key) : NULL;
}

/* The mark first: an exit that sees no mark does not look for the call. */
static __always_inline bool frame_put(const struct call_key *key, const struct pending *p)
{
	__u32 *mark = frame_mark(key);
	__sync_fetch_and_add(mark, 1);
	if (!bpf_map_update_elem(&frame_calls, key, p, BPF_NOEXIST))
		return true;
	__sync_fetch_and_add(mark, -1);
	return false;
}

static __always_inline void frame_drop(const struct call_key *key)
{
	if (!bpf_map_delete_elem(&frame_calls, key))
		__sync_fetch_and_add(frame_mark(key), -1);
}

/*
 * A call that begins in the frame of one that may end in a jump, with the same return address, was reached by that
 * jump: realloc(NULL, n) ends in malloc(n). Otherwise the earlier call was left unnoticed.
 */
static __always_inline bool is_tail_call_of(const struct pending *p, const struct alys_site *site, __u64 link)
{
	return p->jumps && p->account != site->account && caller_at(p->cfa, link) == p->caller;
}

/* With sampling, decision and size are those of the first call. Without, the last call's size is the better one. */
static __always_inline void take_over_sample(const struct pending *outer, struct request *w)
{
	if (config.interval) {
		w->size = outer->size;
		w->stack = outer->stack;
		w->interval = outer->sampled ? outer->interval : NOT_SAMPLED;
	} else if (outer->collected && outer->size == w->size + 1) {
		w->size++; /* before the jump the collector subtracts the byte that the next function adds */
	}
	call_ended(outer);
	count(ALYS_ST_NESTED);
}

/* Another call begins in a frame where one waits. link: LINK_REGISTER at its entry. */
static __noinline int frame_replace(const struct call_key *key, const struct alys_site *site, struct request *w, __u64 link)
{
	struct pending *p = frame_find(key);
	if (!p)
		return 0;
	if (is_tail_call_of(p, site, link))
		take_over_sample(p, w);
	else
		call_lost(p);
	frame_drop(key);
	return 0;
}

/* The same for the plain call that the thread was in; one that is paired by frame is only marked here. */
static __noinline int waiting_replace(struct pending *p, const struct alys_site *site, __u64 cfa, struct request *w, __u64 link)
{
	if (p->cfa != cfa || !is_tail_call_of(p, site, link)) {
		call_lost(p);
		return 0;
	}
	struct call_key key = call_key(cfa);
	/* The marked call was not sampled, so this one is not either. It may still wait in its frame, for its old block. */
	if (p->shape == SHAPE_MARK && !p->sampled && config.interval)
		w->interval = NOT_SAMPLED;
	if (p->shape == SHAPE_MARK)
		frame_replace(&key, site, w, link);
	else
		take_over_sample(p, w);
	p->cfa = 0;
	return 0;
}

static __always_inline void thread_replace(struct pending *p, const struct alys_site *site, __u64 cfa, struct request *w,
					   __u64 link)
{
	if (p->cfa)
		waiting_replace(p, site, cfa, w, link);
}

static __always_inline struct unsampled_call *unsampled_at(const struct call_key *key)
{
	__u32 i = frame_slot(key);
	return bpf_map_lookup_elem(&unsampled_calls, &i);
}

/*
 * Nested calls of a collector are recognized by their caller, without a mark. Except for unsampled ones that may end in
 * a jump: the call that they jump to must not be sampled again. Reads no memory of the target, because most calls of a
 * sampled recording end here.
 */
static __always_inline void gc_note_unsampled(const struct call_key *key, const struct alys_site *site, __u64 size, __u32 kind)
{
	struct unsampled_call *p = unsampled_at(key);
	if (!p)
		return;
	p->tgid = key->tgid;
	p->size = size < ~0u ? size : ~0u;
	p->account = site->account;
	p->kind = kind < 0xff ? kind : 0xff;
	p->lists = !!(site->flags & ALYS_SITE_LISTS);
	p->cfa = key->cfa;
}

/* The call, or the one that it jumped to, has returned. */
static __always_inline void gc_clear_unsampled(const struct call_key *key)
{
	struct unsampled_call *p = unsampled_at(key);
	if (p && p->cfa == key->cfa)
		p->cfa = 0;
}

/*
 * Is this frame below the call that the thread is in? A marked call may have been left by an exception; then its return
 * address has most likely been overwritten.
 */
static __noinline bool is_below(struct pending *p, __u64 cfa)
{
	if (p->user || p->cfa <= cfa || p->cfa - cfa >= NEST_SPAN || p->below++ >= NEST_CALLS)
		return false;
	return p->shape != SHAPE_MARK || is_kept(p->cfa, p->caller);
}

static __noinline bool lies_inside(const struct alys_range *ranges, __u64 addr)
{
	for (int i = 0; i < ALYS_MAX_INNER && ranges[i].lo; i++) {
		if (addr >= ranges[i].lo && addr < ranges[i].hi)
			return true;
	}
	return false;
}

/* Below an operator new that runs program code, only calls by the allocator's `inner` code are nested. */
static __noinline bool is_below_new(const struct thread_call *t, __u64 cfa, __u64 link)
{
	__u32 i = t->new_object;
	if (t->new_cfa <= cfa || t->new_cfa - cfa >= NEST_SPAN)
		return false;
	const struct alys_object *o = bpf_map_lookup_elem(&objects, &i);
	return o && lies_inside(o->inner, caller_at(cfa, link) - t->new_bias);
}

static __always_inline bool is_inside(struct pt_regs *ctx, struct thread_call *t, __u64 cfa)
{
	bool may = t->call.cfa > cfa || t->new_cfa > cfa; /* mostly not: saves two calls */
	return may && (is_below(&t->call, cfa) || is_below_new(t, cfa, LINK_REGISTER(ctx)));
}

static __always_inline struct thread_call *thread_call(bool made)
{
	return bpf_task_storage_get(&thread_calls, current_task(), NULL, made ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
}

static __always_inline __u32 thread_slot(void)
{
	return current_task()->pid & ((1 << THREAD_MARK_BITS) - 1);
}

static __always_inline __u32 *thread_mark_at(__u32 slot)
{
	barrier_var(slot);
	return &thread_marks[slot & ((1 << THREAD_MARK_BITS) - 1)];
}

/* Mostly not: one word, which is mostly in the CPU's cache, saves looking up the thread's storage. */
static __always_inline bool thread_may_wait(void)
{
	return *thread_mark_at(thread_slot());
}

/* After each change of what the thread is in. A thread that executes a program may get another number. */
static __always_inline void thread_note(struct thread_call *t)
{
	bool in = t->call.cfa || t->new_cfa;
	__u32 marked = t->marked;
	if (in == !!marked)
		return;
	t->marked = in ? thread_slot() + 1 : 0;
	__sync_fetch_and_add(thread_mark_at((in ? t->marked : marked) - 1), in ? 1 : -1);
}

/* Made by the allocator itself: by its return address (collectors), or because the thread is inside a plain call. */
static __always_inline bool is_nested_in(struct pt_regs *ctx, const struct alys_site *site, __u64 cfa, __u64 caller,
					 struct thread_call *t)
{
	return site->nest == ALYS_NEST_CALLER ? is_internal(ctx, site, caller) : t && is_inside(ctx, t, cfa);
}

static __always_inline bool is_nested_call(struct pt_regs *ctx, const struct alys_site *site, __u64 cfa, __u64 caller)
{
	return is_nested_in(ctx, site, cfa, caller, site->nest == ALYS_NEST_CALLER ? NULL : thread_call(false));
}

/*
 * Marks the start of a plain call that is paired by frame, because all plain calls nest by thread. An operator new that
 * calls no allocator itself needs no mark: calls below it are the program's.
 */
static __always_inline void thread_mark(struct pt_regs *ctx, const struct alys_site *site, __u64 cfa, __u64 caller,
					struct request *w)
{
	bool bare = site->flags & ALYS_SITE_LEAF && site->flags & ALYS_SITE_USER;
	struct thread_call *t = thread_call(!bare);
	if (!t)
		return;
	struct pending *p = &t->call;
	thread_replace(p, site, cfa, w, LINK_REGISTER(ctx));
	if (bare) {
		thread_note(t);
		return;
	}
	p->shape = SHAPE_MARK;
	p->below = 0;
	p->account = site->account;
	p->user = !!(site->flags & ALYS_SITE_USER);
	p->jumps = !!(site->flags & ALYS_SITE_JUMPS);
	p->sampled = w->interval != NOT_SAMPLED;
	p->caller = caller;
	if (p->user) {
		t->new_object = site->object;
		t->new_bias = bias_of(ctx, site);
		t->new_cfa = cfa;
	}
	p->cfa = cfa;
	thread_note(t);
}

static __always_inline void thread_unmark(__u64 cfa)
{
	struct thread_call *t = thread_call(false);
	if (t && t->call.cfa == cfa && t->call.shape == SHAPE_MARK)
		t->call.cfa = 0;
	if (t && t->new_cfa == cfa)
		t->new_cfa = 0;
	if (t)
		thread_note(t);
}

#endif
