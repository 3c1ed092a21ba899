/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Entries and exits paired by (tgid, CFA): for calls that may run user code, whose return addresses are never touched (a
 * fiber that switches inside would be killed by a return probe). The call waits in frame_calls, unless its result is
 * known at the entry.
 */
#ifndef ALYS_PAIR_BY_FRAME_BPF_H
#define ALYS_PAIR_BY_FRAME_BPF_H

/* Reads the collector's counter, and predicts the result. */
static __always_inline int frame_look(struct pt_regs *ctx, const struct alys_site *site, struct call_room *room)
{
	const struct alys_object *o = object_of(site);
	struct pending *now = &room->now;
	if (now->sampled)
		read_gc(ctx, site, now, !config.interval);
	room->prediction_kind = PREDICT_NOTHING;
	if ((site->flags & ALYS_SITE_LISTS) && o && lists_known(room, site, o, bias_of(ctx, site)))
		room->prediction_kind = predict(o, room, now->size, argument(ctx, site->kind_arg), &room->result, &now->out);
	return 0;
}

/* Would the unsampled call have got its block from a free list? Then it has returned, by an exit that is not probed. */
static __always_inline bool lists_gave(struct pt_regs *ctx, const struct alys_site *site, struct call_room *room,
				       const struct unsampled_call *p)
{
	const struct alys_object *o = object_of(site);
	return p->lists && o && lists_known(room, site, o, bias_of(ctx, site)) &&
	       predict(o, room, p->size, p->kind, &room->result, &room->now.out) != PREDICT_NOTHING;
}

/* Was this call reached by a jump from an unsampled one? Then it may jump on, too. */
static __noinline bool is_jump_from_unsampled(struct pt_regs *ctx, const struct alys_site *site, struct call_room *room,
					      __u64 cfa)
{
	struct call_key key = call_key(cfa);
	struct unsampled_call *p = unsampled_at(&key);
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

/* The call is not followed, and counted as `why`. */
static __noinline int frame_leave(struct pt_regs *ctx, const struct alys_site *site, __u64 cfa, __u64 size, __u32 why)
{
	struct call_key key = call_key(cfa);
	count(why);
	if (why != ALYS_ST_UNSAMPLED || site->nest != ALYS_NEST_CALLER)
		return 0;
	if (site->flags & ALYS_SITE_JUMPS)
		gc_note_unsampled(&key, site, size, argument(ctx, site->kind_arg));
	else
		gc_clear_unsampled(&key);
	return 0;
}

/* What its exit will see. */
static __always_inline __u64 pair_of(struct pt_regs *ctx, const struct alys_site *site, __u64 cfa)
{
	return site->flags & ALYS_SITE_CALLEE ? PT_REGS_SP(ctx) : cfa;
}

/* Replaces a call that waits in the frame, and takes over its sample if this one was reached by its jump. */
static __always_inline int call_place(struct pt_regs *ctx, const struct alys_site *site, struct call_room *room,
				      struct request *w, __u64 cfa)
{
	room->pair = pair_of(ctx, site, cfa);
	struct call_key key = call_key(room->pair), own = { .cfa = cfa, .tgid = key.tgid };
	if (config.interval)
		gc_clear_unsampled(&own); /* a later jump in this frame is this call's, not an earlier one's */
	if (site->nest == ALYS_NEST_THREAD)
		thread_mark(ctx, site, cfa, room->now.caller, w);
	if (may_wait(&key))
		frame_replace(&key, site, w, LINK_REGISTER(ctx));
	return 0;
}

/* For sampled calls only; the caller is then found in what the walk reads anyway. */
static __always_inline int frame_stack(struct pt_regs *ctx, const struct alys_site *site, struct call_room *room, __u64 cfa,
				       bool recorded)
{
	struct walk_slot *w = recorded ? stack_begin(ctx, start_of(site, cfa)) : NULL;
	room->slot = -1;
	if (w)
		room->slot = w->number;
	return 0;
}

static __always_inline int frame_read(struct pt_regs *ctx, const struct alys_site *site, const struct request *w,
				      struct call_room *room, __u64 cfa)
{
	call_read(ctx, site, w, &room->now, cfa);
	frame_look(ctx, site, room);
	return 0;
}

/* The call, described in the thread's call_room; NULL if it is not followed. */
static __always_inline struct call_room *frame_begin(struct pt_regs *ctx)
{
	const struct alys_site *site = wanted_call(ctx);
	if (!site)
		return NULL;
	__u64 cfa = PT_REGS_SP(ctx) + site->cfa_off;
	struct request w = call_request(ctx, site);
	__u32 why = ALYS_ST_UNSAMPLED;
	struct call_room *room = NULL;
	if (is_idle(ctx, site, &w, cfa)) {
		count_hit(site->shape);
		if (site->nest == ALYS_NEST_CALLER)
			lists_forget_told(thread_room(), pair_of(ctx, site, cfa));
		goto leave;
	}
	room = thread_room();
	if (!room) {
		count_hit(site->shape);
		count_loss(ALYS_ST_LOST_PENDING);
		return NULL;
	}
	lists_forget_told(room, pair_of(ctx, site, cfa));
	if (THREAD_POINTER_LATE)
		lists_ask(ctx, site, room, w.size, pair_of(ctx, site, cfa));
	frame_stack(ctx, site, room, cfa, w.interval != NOT_SAMPLED);
	room->now.caller = caller_of(cfa, LINK_REGISTER(ctx), slot_at(room->slot));
	why = is_nested_call(ctx, site, cfa, room->now.caller) ? ALYS_ST_NESTED : 0;
	/* The collector refills its threads' lists: no block has been requested yet. */
	if (why == ALYS_ST_NESTED && site->shape == ALYS_SHAPE_BATCH)
		goto drop;
	count_hit(site->shape);
	if (why)
		goto leave;
	why = ALYS_ST_NESTED;
	if (config.interval && is_jump_from_unsampled(ctx, site, room, cfa))
		goto leave;
	call_place(ctx, site, room, &w, cfa);
	why = ALYS_ST_UNSAMPLED;
	if (is_unwanted(ctx, site, &w))
		goto leave;
	frame_read(ctx, site, &w, room, cfa);
	return room;
leave:
	frame_leave(ctx, site, cfa, w.size, why);
drop:
	if (room)
		stack_drop(slot_at(room->slot));
	return NULL;
}

/* The call waits for an exit. */
static __always_inline void frame_wait(struct call_room *room)
{
	struct call_key key = call_key(room->pair);
	if (room->prediction_kind == PREDICT_RESULT) {
		room->now.predicted = 1;
		room->now.prediction = room->result;
	}
	room->now.cfa = key.cfa;
	if (frame_put(&key, &room->now))
		call_begun(&room->now);
	else
		count_loss(ALYS_ST_LOST_PENDING);
}

/* A call with a predicted result is recorded now. */
static __always_inline int frame_end(struct call_room *room)
{
	call_walked(&room->now, slot_at(room->slot));
	if (room->prediction_kind == PREDICT_RESULT && !room->now.trial) {
		room->told = room->pair;
		call_finish(&room->now, room->result);
	} else {
		frame_wait(room);
	}
	if (room->now.sampled)
		charge_sample(room->now.enter);
	return 0;
}

static __always_inline __u64 result_at(struct pt_regs *ctx, const struct alys_site *site, const struct pending *p)
{
	__u64 result = 0, at = p->out;
	if (site->reg < ALYS_REG_LIST && p->shape != ALYS_SHAPE_BATCH)
		return register_of(ctx, site);
	if (site->reg > ALYS_REG_LIST && p->shape != ALYS_SHAPE_BATCH) {
		at = list_in(ctx, site);
		lists_judge(site, p, at);
	}
	if (!at || !read_word(&result, at))
		count(ALYS_ST_EXIT_UNPAIRED);
	return result;
}

/* Compares what the site on trial predicted with the result; no prediction counts as wrong. */
static __always_inline void judge(const struct alys_site *site, const struct pending *p, __u64 result)
{
	struct alys_object *o = object_of(site);
	if (o)
		__sync_fetch_and_add(p->predicted && p->prediction == result ? &o->agreed : &o->wrong, 1);
}

/*
 * A jump through a pointer may have led to unknown code. Then a later call of the function in which this one was expected to
 * end may have the same frame.
 */
static __always_inline bool is_left_elsewhere(const struct pending *p, __u64 cfa, __u64 link)
{
	return p->jumps && p->caller && caller_at(cfa, link) != p->caller;
}

/* A call that gets no block may be seen here only, see ALYS_SITE_LATE. One that was dropped at its entry counts once more. */
static __always_inline bool is_failure(struct pt_regs *ctx, const struct alys_site *site)
{
	return site->flags & ALYS_SITE_LATE && !is_selective() && !register_of(ctx, site);
}

static __always_inline void count_failure(void)
{
	count(ALYS_ST_HIT_ALLOC);
	count(ALYS_ST_FAILED);
}

static __noinline int frame_return(struct pt_regs *ctx)
{
	const struct alys_site *site = wanted_site(ctx);
	if (!site)
		return 0;
	struct call_key key = call_key(PT_REGS_SP(ctx) + site->cfa_off);
	if (THREAD_POINTER_LATE)
		lists_learn(ctx, site, key.cfa);
	struct pending *p = frame_find(&key);
	if (site->nest == ALYS_NEST_THREAD)
		thread_unmark(key.cfa);
	if (!p) {
		lists_refute(site, key.cfa);
		if (site->nest == ALYS_NEST_CALLER)
			gc_clear_unsampled(&key);
		/* After a trial, exits of both lists stay attached for a while. */
		if (is_failure(ctx, site))
			count_failure();
		else if (!(site->flags & (ALYS_SITE_TRIAL | ALYS_SITE_LATE)))
			count(ALYS_ST_EXIT_UNPAIRED);
		return 0;
	}
	if (is_left_elsewhere(p, key.cfa, LINK_REGISTER(ctx))) {
		count(ALYS_ST_EXIT_UNPAIRED);
		return 0;
	}
	__u64 begun = p->sampled || p->old ? sample_begins() : 0, result = result_at(ctx, site, p);
	if (p->trial && (site->flags & ALYS_SITE_TRIAL))
		judge(site, p, result);
	call_ended(p);
	if (p->shape == ALYS_SHAPE_BATCH)
		finish_batch(p, result);
	else
		call_finish(p, result);
	frame_drop(&key);
	charge_sample(begun);
	return 0;
}

/* An exit on trial: notes what it would report; the call ends at its `ret`. */
static __always_inline int frame_note_prediction(struct pt_regs *ctx)
{
	const struct alys_site *site = wanted_site(ctx);
	if (!site)
		return 0;
	struct call_key key = call_key(PT_REGS_SP(ctx) + site->cfa_off);
	if (THREAD_POINTER_LATE)
		lists_learn(ctx, site, key.cfa);
	struct pending *p = frame_find(&key);
	if (!p || !p->trial)
		return 0;
	p->prediction = result_at(ctx, site, p);
	p->predicted = 1;
	return 0;
}

#endif
