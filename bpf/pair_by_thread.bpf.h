/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Entries and returns paired by thread: for plain C allocators under a return probe, which never switch stacks. The
 * call waits in the thread's own storage, unless its result is known at the entry.
 */
#ifndef ALYS_PAIR_BY_THREAD_BPF_H
#define ALYS_PAIR_BY_THREAD_BPF_H

static __always_inline bool is_known(const struct pending *p)
{
	return p->predicted && !p->trial;
}

/* The thread's call, that will wait for its return, or NULL. */
static __always_inline struct thread_call *thread_begin(struct pt_regs *ctx)
{
	const struct alys_site *site = wanted_call(ctx);
	if (!site)
		return NULL;
	count_hit(site->shape);
	__u64 cfa = PT_REGS_SP(ctx) + site->cfa_off;
	struct request w = call_request(ctx, site);
	if (is_idle(ctx, site, &w, cfa)) {
		count(ALYS_ST_UNSAMPLED);
		return NULL;
	}
	struct thread_call *t = thread_call(true);
	if (!t) {
		count_loss(ALYS_ST_LOST_PENDING);
		return NULL;
	}
	if (is_inside(ctx, t, cfa)) {
		count(ALYS_ST_NESTED);
		return NULL;
	}
	thread_replace(&t->call, site, cfa, &w, LINK_REGISTER(ctx));
	call_read(ctx, site, &w, &t->call, cfa);
	if (t->call.sampled)
		read_gc(ctx, site, &t->call, false);
	call_predict(ctx, site, t);
	t->call.caller = t->call.jumps && !is_known(&t->call) ? caller_at(cfa, LINK_REGISTER(ctx)) : 0;
	return t;
}

/* A call with a predicted result is recorded now; others wait for their return. 0 if it must be seen. */
static __always_inline int thread_end(struct thread_call *t)
{
	struct pending *p = &t->call;
	bool known = is_known(p);
	if (known) {
		count(ALYS_ST_PREDICTED);
		call_finish(p, p->prediction);
	} else {
		call_wait(p, p->start.cfa);
	}
	thread_note(t);
	if (p->sampled)
		charge_sample(p->enter);
	return known;
}

/* 0 if the call's return must be seen. */
static __always_inline int thread_enter(struct pt_regs *ctx)
{
	struct thread_call *t = thread_begin(ctx);
	if (!t)
		return 1;
	call_walk(ctx, &t->call);
	return thread_end(t);
}

static __noinline int thread_return(struct pt_regs *ctx)
{
	/* No site is looked up: only wanted calls wait. */
	if (!recording)
		return 0;
	charge_return();
	struct thread_call *t = thread_call(false);
	struct pending *p = t ? &t->call : NULL;
	if (!p || p->cfa != PT_REGS_SP(ctx) || p->shape == SHAPE_MARK)
		return 0;
	if (config.windowed)
		t->sample_begun = p->sampled || p->old ? sample_begins() : 0;
	call_ended(p);
	if (p->predicted)
		call_judge(t, PT_REGS_RC(ctx));
	call_finish(p, PT_REGS_RC(ctx));
	p->cfa = 0;
	thread_note(t);
	if (config.windowed)
		charge_sample(t->sample_begun);
	return 0;
}

#endif
