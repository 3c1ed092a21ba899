// SPDX-License-Identifier: GPL-2.0
/*
 * Calls of allocators, by shape: what comes in at the entry waits for what goes out at the return.
 * Two ways to wait: by thread, for plain C allocators under a return probe; by (tgid, CFA), for
 * calls that may run user code, whose return addresses are never touched (a fiber that switches
 * inside would be killed by a return probe).
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "alys.h"
#include "maps.bpf.h"
#include "stats.bpf.h"
#include "filter.bpf.h"
#include "emit.bpf.h"
#include "sample.bpf.h"
#include "stack.bpf.h"
#include "predict.bpf.h"
#include "registers.bpf.h"
#include "gc.bpf.h"
#include "caller.bpf.h"
#include "nest.bpf.h"
#include "free.bpf.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline void count_hit(__u8 shape)
{
	if (shape == ALYS_SHAPE_FREE)
		count(ALYS_ST_HIT_FREE);
	else if (shape == ALYS_SHAPE_REALLOC || shape == ALYS_SHAPE_MULREALLOC)
		count(ALYS_ST_HIT_REALLOC);
	else
		count(ALYS_ST_HIT_ALLOC);
}

static __always_inline void read_gc(struct pt_regs *ctx, const struct alys_site *site, struct pending *p)
{
	const struct alys_object *o = object_of(site);
	__u64 gc_no;
	if (!o || !o->gc_no_vaddr || !read_word(&gc_no, o->gc_no_vaddr + bias_of(ctx, site)))
		return;
	p->gc_no = gc_no;
	p->flags |= ALYS_F_GC;
}

static __always_inline bool is_reallocation(__u8 shape)
{
	return shape == ALYS_SHAPE_REALLOC || shape == ALYS_SHAPE_MULREALLOC;
}

/* Bytes that the call asks for. */
static __always_inline __u64 size_asked(struct pt_regs *ctx, const struct alys_site *site)
{
	__u64 a = argument(ctx, site->arg[0]);
	if (site->shape == ALYS_SHAPE_SIZE || site->shape == ALYS_SHAPE_BATCH)
		return a;
	__u64 b = argument(ctx, site->arg[1]);
	if (site->shape == ALYS_SHAPE_MUL)
		return a * b; /* when this overflows the call returns NULL */
	return site->shape == ALYS_SHAPE_MULREALLOC ? b * argument(ctx, site->arg[2]) : b;
}

static __always_inline void read_arguments(struct pt_regs *ctx, const struct alys_site *site,
					   struct pending *p)
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
	p->foretold = 0;
	p->below = 0;
	p->account = site->account;
	p->user = 0;
	p->throws = !!(site->flags & ALYS_SITE_THROWS);
	p->jumps = !!(site->flags & ALYS_SITE_JUMPS);
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

/* A list counts as the page that it mostly is: how many blocks are in it is not known yet. */
static __always_inline __u64 weight_of(const struct alys_site *site, __u64 size)
{
	return site->shape == ALYS_SHAPE_BATCH ? ALYS_REFILL_SPAN : size;
}

/*
 * Before anything else is asked: most calls end here when a recording samples. Also the bytes of calls that turn
 * out to be nested go by: what falls into them is dropped, and the points in the others stay a Poisson process.
 */
static __always_inline struct wish call_wish(struct pt_regs *ctx, const struct alys_site *site)
{
	struct wish w = { .size = size_asked(ctx, site), .drawn_for = NOT_TAKEN };
	if (w.size >= config.min_size)
		w.drawn_for = config.interval ? sample_point(weight_of(site, w.size)) ?: NOT_TAKEN : 0;
	return w;
}

/* Nobody will ask for the outcome of this call. On trial all are followed: the first thousand calls are to end it, not as
 * many samples. */
static __always_inline bool is_unwanted(struct pt_regs *ctx, const struct alys_site *site, const struct wish *w)
{
	if (w->drawn_for != NOT_TAKEN || site->flags & ALYS_SITE_TRIAL)
		return false;
	__u64 old = is_reallocation(site->shape) ? argument(ctx, site->arg[0]) : 0;
	return !old || !sampled_has(old);
}

/* Nor for what it calls, nor does it take the place of a call that waits. */
static __always_inline bool is_idle(struct pt_regs *ctx, const struct alys_site *site, const struct wish *w, __u64 cfa)
{
	struct call_key key = call_key(cfa);
	return site->flags & ALYS_SITE_LEAF && is_unwanted(ctx, site, w) && !may_wait(&key);
}

/* What is known at the entry but for the stack. */
static __always_inline void call_read(struct pt_regs *ctx, const struct alys_site *site, const struct wish *w,
				      struct pending *p, __u64 cfa)
{
	p->frame = cfa;
	p->collected = site->nest == ALYS_NEST_CALLER;
	read_arguments(ctx, site, p);
	p->size = w->size;
	p->sampled = w->drawn_for != NOT_TAKEN;
	p->interval = p->sampled ? w->drawn_for : 0;
	/* Asked for only by those who compare it: a clock costs as much as a map. */
	p->enter = is_reallocation(p->shape) || is_selective() ? bpf_ktime_get_ns() : 0;
	p->flags = 0;
	p->stack = w->stack;
	if (p->sampled) {
		if (is_atomic(ctx, site))
			p->flags = ALYS_F_ATOMIC;
		read_gc(ctx, site, p);
	}
}

/*
 * The walk may sleep while it waits for a page, and a function that sleeps must need less than 64 bytes
 * of stack (see unwind.bpf.h). So the programs themselves do nothing but this, between a function that
 * begins the call and one that ends the entry.
 */
static __always_inline void call_walk(struct pt_regs *ctx, struct pending *p)
{
	if (p->sampled && !p->stack)
		p->stack = stack_take(ctx, p->frame);
}

/* Last, so that an interrupting handler on this thread finds either all of it or nothing. */
static __always_inline void call_wait(struct pending *p, __u64 cfa)
{
	p->cfa = cfa;
	call_begun(p);
}

/*
 * Remembers a block whose free is to be seen; false when the table has no room. A collector's blocks
 * fill it in time, because most of their ends are not seen here: those are recorded all the same, and only
 * their explicit frees go unseen; the collector tells of the others.
 */
static __always_inline bool remember(const struct pending *p, __u64 addr)
{
	return p->unfreed || sampled_put(addr, p->enter) || p->collected;
}

/* Neither the old block nor the new one may be of interest to a selective recording. */
static __always_inline void finish_realloc(const struct pending *p, __u64 addr)
{
	__u64 old = p->old;
	if (!is_selective()) {
		emit_realloc(p, addr, old);
		return;
	}
	if (old && !sampled_del(old, p->enter))
		old = 0;
	bool wanted = addr && p->sampled, kept = wanted && remember(p, addr);
	if (kept) {
		emit_realloc(p, addr, old);
	} else if (wanted && !old) {
		lose(ALYS_ST_LOST_SAMPLED_FULL);
	} else if (old) {
		if (wanted)
			count(ALYS_ST_HALF_REALLOC);
		/* The block went away when the call began, not later: its address may have a new owner. */
		emit_free(old, p->stack, p->enter);
	} else {
		count(ALYS_ST_UNSAMPLED);
	}
}

static __always_inline void finish_alloc(const struct pending *p, __u64 addr)
{
	if (!p->sampled)
		count(ALYS_ST_UNSAMPLED);
	else if (is_selective() && !remember(p, addr))
		lose(ALYS_ST_LOST_SAMPLED_FULL);
	else
		emit_alloc(p, addr);
}

/* The blocks of a list, one after the other. */
struct batch {
	const struct pending *p;
	__u64 block;
};

/* The call was one hit; each block more is one, too. */
static long batch_step(__u32 i, struct batch *b)
{
	__u64 next;
	if (!b->block)
		return 1;
	if (i)
		count(ALYS_ST_HIT_ALLOC);
	count(ALYS_ST_BATCHED);
	finish_alloc(b->p, b->block);
	if (!read_word(&next, b->block))
		next = 0;
	b->block = next;
	return 0;
}

/* Sampled, the first block of a list stands for all. */
static __noinline int finish_batch(struct pending *p, __u64 head)
{
	struct batch b = { .p = p, .block = head };
	if (!head) {
		count(ALYS_ST_FAILED);
		return 0;
	}
	count(ALYS_ST_BATCHES);
	if (p->interval || !p->sampled || !bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop)) {
		p->batch = list_length(head);
		p->span = ALYS_REFILL_SPAN;
		finish_alloc(p, head);
		return 0;
	}
	bpf_loop(LIST_MAX, batch_step, &b, 0);
	return 0;
}

static __always_inline void call_finish(const struct pending *p, __u64 result)
{
	__u64 addr = result;
	if (p->shape == ALYS_SHAPE_OUTPTR) {
		addr = 0;
		if ((__u32)result == 0 && bpf_probe_read_user(&addr, sizeof(addr), (void *)p->out)) {
			lose(ALYS_ST_LOST_READ);
			return;
		}
	}
	if (!addr && !(is_reallocation(p->shape) && p->old && !p->size && p->frees_on_zero))
		count(ALYS_ST_FAILED);
	else if (is_reallocation(p->shape) && p->old)
		finish_realloc(p, addr);
	else
		finish_alloc(p, addr);
}

/* By thread. The call that is to be waited for, or NULL. */
static __noinline struct pending *thread_begin(struct pt_regs *ctx)
{
	const struct alys_site *site = wanted_site(ctx);
	if (!site)
		return NULL;
	count_hit(site->shape);
	__u64 cfa = PT_REGS_SP(ctx) + site->cfa_off;
	struct wish w = call_wish(ctx, site);
	if (is_idle(ctx, site, &w, cfa)) {
		count(ALYS_ST_UNSAMPLED);
		return NULL;
	}
	struct thread_call *t = thread_call(true);
	if (!t) {
		lose(ALYS_ST_LOST_PENDING);
		return NULL;
	}
	if (is_inside(t, cfa)) {
		count(ALYS_ST_NESTED);
		return NULL;
	}
	thread_succeed(&t->call, site, cfa, &w);
	call_read(ctx, site, &w, &t->call, cfa);
	t->call.caller = t->call.jumps ? caller_at(cfa) : 0;
	return &t->call;
}

/* Returns 0 when the return is to be waited for. */
static __always_inline int thread_enter(struct pt_regs *ctx)
{
	struct pending *p = thread_begin(ctx);
	if (!p)
		return 1;
	call_walk(ctx, p);
	call_wait(p, p->frame);
	return 0;
}

static __noinline int thread_return(struct pt_regs *ctx)
{
	/* A call waits only where it was wanted. */
	if (!recording)
		return 0;
	struct thread_call *t = thread_call(false);
	struct pending *p = t ? &t->call : NULL;
	if (!p || p->cfa != PT_REGS_SP(ctx) || p->shape == SHAPE_MARK)
		return 0;
	call_ended(p);
	call_finish(p, PT_REGS_RC(ctx));
	p->cfa = 0;
	return 0;
}

#ifndef ALYS_NO_KFUNCS
extern bool bpf_session_is_return(void) __ksym __weak;
#else
static bool bpf_session_is_return(void) { return false; } /* no kernel without it has sessions */
#endif

SEC("uprobe")
int call_session(struct pt_regs *ctx)
{
	if (bpf_session_is_return())
		return thread_return(ctx);
	return thread_enter(ctx);
}

SEC("uprobe")
int plain_enter(struct pt_regs *ctx)
{
	thread_enter(ctx);
	return 0;
}

SEC("uprobe")
int plain_return(struct pt_regs *ctx)
{
	return thread_return(ctx);
}

static const struct pending no_call;

static __always_inline struct call_room *thread_room(void)
{
	return bpf_task_storage_get(&call_rooms, bpf_get_current_task_btf(), NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* How the result will be known. */
static __always_inline void frame_foresee(struct pt_regs *ctx, const struct alys_site *site, struct call_room *room)
{
	const struct alys_object *o = object_of(site);
	struct pending *now = &room->now;
	room->foreseen = PREDICT_NOTHING;
	if ((site->flags & ALYS_SITE_LISTS) && o && lists_known(room, site, o, bias_of(ctx, site)))
		room->foreseen = predict(o, room, now->size, argument(ctx, site->kind_arg), &room->result,
					 &now->out);
}

/* The thread is inside a plain call: what it calls on the way is not the program's own. */
static __always_inline bool is_nested_call(struct pt_regs *ctx, const struct alys_site *site, __u64 cfa, __u64 caller)
{
	if (site->nest == ALYS_NEST_CALLER)
		return is_internal(ctx, site, caller);
	struct thread_call *t = thread_call(false);
	return t && is_inside(t, cfa);
}

/* Would the call that was passed over have got its block from a list? It comes back then, by no probed way. */
static __always_inline bool lists_gave(struct pt_regs *ctx, const struct alys_site *site, struct call_room *room,
				       const struct passed_call *p)
{
	const struct alys_object *o = object_of(site);
	return p->lists && o && lists_known(room, site, o, bias_of(ctx, site)) &&
	       predict(o, room, p->size, p->kind, &room->result, &room->now.out) != PREDICT_NOTHING;
}

/* Was the call jumped to by one that is not recorded? It may jump on. */
static __noinline bool is_passed(struct pt_regs *ctx, const struct alys_site *site, struct call_room *room, __u64 cfa)
{
	struct call_key key = call_key(cfa);
	struct passed_call *p = passed_at(&key);
	if (site->nest != ALYS_NEST_CALLER || !p || p->cfa != cfa || p->tgid != key.tgid)
		return false;
	p->cfa = 0;
	if (p->account == site->account || lists_gave(ctx, site, room, p))
		return false;
	if (site->flags & ALYS_SITE_JUMPS) {
		p->account = site->account;
		p->lists = 0;
		p->cfa = cfa;
	}
	return true;
}

/* Not followed, or not by itself. */
static __noinline int frame_leave(struct pt_regs *ctx, const struct alys_site *site, __u64 cfa, __u64 size, __u32 why)
{
	struct call_key key = call_key(cfa);
	count(why);
	if (why != ALYS_ST_UNSAMPLED || site->nest != ALYS_NEST_CALLER)
		return 0;
	if (site->flags & ALYS_SITE_JUMPS)
		gc_pass(&key, site, size, argument(ctx, site->kind_arg));
	else
		gc_passed(&key);
	return 0;
}

/* The call takes its place in the frame, and what it inherits there. */
static __noinline int call_place(struct pt_regs *ctx, const struct alys_site *site, struct call_room *room, struct wish *w,
				 __u64 cfa)
{
	room->pair = site->flags & ALYS_SITE_CALLEE ? PT_REGS_SP(ctx) : cfa;
	struct call_key key = call_key(room->pair), own = call_key(cfa);
	if (config.interval)
		gc_passed(&own); /* whoever is jumped to from here comes after this call, not after one before */
	if (site->nest == ALYS_NEST_THREAD)
		thread_mark(ctx, site, cfa, room->now.caller, w);
	frame_succeed(&key, site, w);
	return 0;
}

/* By (tgid, CFA). The call, gathered in the thread's own room, or NULL when nothing is to be followed. */
static __noinline struct call_room *frame_begin(struct pt_regs *ctx)
{
	const struct alys_site *site = wanted_site(ctx);
	if (!site)
		return NULL;
	__u64 cfa = PT_REGS_SP(ctx) + site->cfa_off;
	struct wish w = call_wish(ctx, site);
	__u32 why = ALYS_ST_UNSAMPLED;
	if (is_idle(ctx, site, &w, cfa)) {
		count_hit(site->shape);
		goto leave;
	}
	struct call_room *room = thread_room();
	if (!room) {
		count_hit(site->shape);
		lose(ALYS_ST_LOST_PENDING);
		return NULL;
	}
	room->now.caller = caller_at(cfa);
	why = is_nested_call(ctx, site, cfa, room->now.caller) ? ALYS_ST_NESTED : 0;
	/* The collector refills the lists of its threads: nobody has asked for a block yet. */
	if (why == ALYS_ST_NESTED && site->shape == ALYS_SHAPE_BATCH)
		return NULL;
	count_hit(site->shape);
	if (why)
		goto leave;
	why = ALYS_ST_NESTED;
	if (config.interval && is_passed(ctx, site, room, cfa))
		goto leave;
	call_place(ctx, site, room, &w, cfa);
	why = ALYS_ST_UNSAMPLED;
	if (is_unwanted(ctx, site, &w))
		goto leave;
	call_read(ctx, site, &w, &room->now, cfa);
	frame_foresee(ctx, site, room);
	return room;
leave:
	frame_leave(ctx, site, cfa, w.size, why);
	return NULL;
}

/* What can be told at once is told; the rest waits for one of the exits. */
static __noinline int frame_end(struct call_room *room)
{
	struct call_key key = call_key(room->pair);
	if (room->foreseen == PREDICT_RESULT && !room->now.trial) {
		call_finish(&room->now, room->result);
		return 0;
	}
	if (room->foreseen == PREDICT_RESULT) {
		room->now.foretold = 1;
		room->now.told = room->result;
	}
	room->now.cfa = key.cfa;
	if (frame_put(&key, &room->now))
		call_begun(&room->now);
	else
		lose(ALYS_ST_LOST_PENDING);
	return 0;
}

SEC("uprobe")
int frame_enter(struct pt_regs *ctx)
{
	struct call_room *room = frame_begin(ctx);
	if (!room)
		return 0;
	call_walk(ctx, &room->now);
	return frame_end(room);
}

/* The size class and kind of a list say what its blocks are. False when the list is none of the thread's. */
static __noinline bool refill_read(struct call_room *room, const struct alys_object *o, __u64 list)
{
	struct pending *p = &room->now;
	__u64 index = (list - room->lists) / 8;
	__u32 per_kind = o->lists.per_kind;
	if (list < room->lists || !per_kind || index >= (__u64)o->lists.kinds * per_kind ||
	    !read_word(&room->result, list))
		return false;
	*p = no_call;
	p->size = index % per_kind * GRANULE ?: GRANULE;
	p->flags = holds_no_pointers(index / per_kind) ? ALYS_F_ATOMIC : 0;
	p->span = ALYS_REFILL_SPAN;
	p->batch = list_length(room->result);
	p->sampled = p->size >= config.min_size;
	p->unfreed = 1;
	return p->batch || !room->result;
}

/* A call that is over, its size and kind still in registers: no entry had to be probed for it. */
static __noinline struct call_room *whole_begin(struct pt_regs *ctx, const struct alys_site *site)
{
	__u64 cfa = PT_REGS_SP(ctx) + site->cfa_off, size = register_no(ctx, site->arg[0]);
	__u64 drawn_for = sample_point(size);
	if (!drawn_for) {
		count(ALYS_ST_UNSAMPLED);
		return NULL;
	}
	if (is_internal(ctx, site, caller_at(cfa))) {
		count(ALYS_ST_NESTED);
		return NULL;
	}
	struct call_room *room = thread_room();
	if (!room) {
		lose(ALYS_ST_LOST_PENDING);
		return NULL;
	}
	struct pending *p = &room->now;
	*p = no_call;
	p->size = size;
	p->flags = holds_no_pointers(register_no(ctx, site->kind_arg)) ? ALYS_F_ATOMIC : 0;
	p->sampled = size >= config.min_size;
	p->unfreed = 1;
	p->interval = drawn_for;
	p->frame = cfa;
	read_gc(ctx, site, p);
	room->result = register_of(ctx, site);
	return room;
}

/*
 * A thread's empty free list has got a page's worth of blocks; the call that found it empty takes the first
 * of them. One probe behind the refill, in GC_malloc_kind's own frame: few refills are taken, and for the
 * others a second probe at their begin would be what costs.
 */
static __noinline struct call_room *refill_begin(struct pt_regs *ctx)
{
	const struct alys_site *site = wanted_site(ctx);
	const struct alys_object *o = site ? object_of(site) : NULL;
	if (!o)
		return NULL;
	count_hit(site->shape);
	if (site->flags & ALYS_SITE_WHOLE)
		return whole_begin(ctx, site);
	__u64 drawn_for = sample_point(ALYS_REFILL_SPAN);
	if (!drawn_for) {
		count(ALYS_ST_UNSAMPLED);
		return NULL;
	}
	struct call_room *room = thread_room();
	if (!room) {
		lose(ALYS_ST_LOST_PENDING);
		return NULL;
	}
	if (!lists_known(room, site, o, bias_of(ctx, site)) || !refill_read(room, o, register_of(ctx, site))) {
		lose(ALYS_ST_LOST_READ);
		return NULL;
	}
	read_gc(ctx, site, &room->now);
	room->now.interval = drawn_for;
	room->now.frame = PT_REGS_SP(ctx) + site->cfa_off;
	return room;
}

static __noinline int refill_end(struct call_room *room)
{
	if (room->result)
		finish_alloc(&room->now, room->result);
	else
		count(ALYS_ST_FAILED);
	return 0;
}

SEC("uprobe")
int refill(struct pt_regs *ctx)
{
	struct call_room *room = refill_begin(ctx);
	if (!room)
		return 0;
	call_walk(ctx, &room->now);
	return refill_end(room);
}

static __always_inline __u64 result_at(struct pt_regs *ctx, const struct alys_site *site, const struct pending *p)
{
	__u64 result = 0;
	if (site->reg != ALYS_REG_LIST && p->shape != ALYS_SHAPE_BATCH)
		result = register_of(ctx, site);
	else if (!p->out || !read_word(&result, p->out))
		count(ALYS_ST_EXIT_UNPAIRED);
	return result;
}

/* Did the site on trial say what the call came back with, and did it say anything? */
static __always_inline void judge(const struct alys_site *site, const struct pending *p, __u64 result)
{
	struct alys_object *o = object_of(site);
	if (o)
		__sync_fetch_and_add(p->foretold && p->told == result ? &o->agreed : &o->wrong, 1);
}

SEC("uprobe")
int frame_exit(struct pt_regs *ctx)
{
	const struct alys_site *site = wanted_site(ctx);
	if (!site)
		return 0;
	struct call_key key = call_key(PT_REGS_SP(ctx) + site->cfa_off);
	struct pending *p = frame_find(&key);
	if (site->nest == ALYS_NEST_THREAD)
		thread_unmark(key.cfa);
	if (!p) {
		if (site->nest == ALYS_NEST_CALLER)
			gc_passed(&key);
		count(ALYS_ST_EXIT_UNPAIRED);
		return 0;
	}
	__u64 result = result_at(ctx, site, p);
	if (p->trial && (site->flags & ALYS_SITE_TRIAL))
		judge(site, p, result);
	call_ended(p);
	if (p->shape == ALYS_SHAPE_BATCH)
		finish_batch(p, result);
	else
		call_finish(p, result);
	frame_drop(&key);
	return 0;
}

/* An exit on trial: says what it would have said, and leaves the call to its `ret`. */
SEC("uprobe")
int frame_foretell(struct pt_regs *ctx)
{
	const struct alys_site *site = wanted_site(ctx);
	if (!site)
		return 0;
	struct call_key key = call_key(PT_REGS_SP(ctx) + site->cfa_off);
	struct pending *p = frame_find(&key);
	if (!p || !p->trial)
		return 0;
	p->told = result_at(ctx, site, p);
	p->foretold = 1;
	return 0;
}

/* free: probed at its entry, before the address can be handed out again. */
SEC("uprobe")
int free_enter(struct pt_regs *ctx)
{
	const struct alys_site *site = wanted_site(ctx);
	if (!site)
		return 0;
	count(ALYS_ST_HIT_FREE);
	__u64 addr = argument(ctx, site->arg[0]);
	__u64 cfa = PT_REGS_SP(ctx) + site->cfa_off;
	if (!addr)
		count(ALYS_ST_FREE_NULL);
	else if (is_selective() && !may_be_sampled(addr))
		count(ALYS_ST_UNSAMPLED); /* nested or not */
	else if (is_nested_call(ctx, site, cfa, site->nest == ALYS_NEST_CALLER ? caller_at(cfa) : 0))
		count(ALYS_ST_NESTED);
	else if (is_selective() && !sampled_del(addr, ~0ull))
		count(ALYS_ST_UNSAMPLED);
	else if (is_selective() || is_programs_free(ctx, site))
		emit_free(addr, config.free_stacks ? stack_take(ctx, cfa) : 0, 0);
	return 0;
}
