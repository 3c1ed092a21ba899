/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Proof of what predict.bpf.h told at entries: behind a refill a register points to the list, and a call whose result was told
 * comes to no exit.
 */
#ifndef ALYS_PROVE_BPF_H
#define ALYS_PROVE_BPF_H

/* Behind a refill: the address of the list. */
static __always_inline __u64 list_in(struct pt_regs *ctx, const struct alys_site *site)
{
	return register_at(ctx, site->reg - ALYS_REG_LIST);
}

/* This call, if it ends at an exit, is no proof against an earlier one's result. */
static __always_inline void lists_forget_told(struct call_room *t, __u64 cfa)
{
	if (t && t->told == cfa)
		t->told = 0;
}

/*
 * A call comes to an exit whose result its entry told from a list. The lists are not the thread's any more: it left the collector
 * and came back. New lists begin empty, so the first call that takes from one comes to an exit.
 */
static __noinline int lists_refute(const struct alys_site *site, __u64 cfa)
{
	bool may = site->nest == ALYS_NEST_CALLER && !(site->flags & ALYS_SITE_TRIAL);
	struct call_room *t = may ? thread_room() : NULL;
	if (!t || !t->told || t->told != cfa)
		return 0;
	count(ALYS_ST_MISPREDICTED);
	t->told = 0;
	t->lists = 0;
	return 0;
}

/* The call's entry said that its list is at p->out. */
static __noinline int lists_judge(const struct alys_site *site, const struct pending *p, __u64 list)
{
	const struct alys_object *o = object_of(site);
	if (!p->out || p->out == list)
		return 0;
	count(ALYS_ST_MISPREDICTED);
	struct call_room *room = thread_room();
	if (room && o && p->out - room->lists < o->lists.kinds * o->lists.per_kind * 8)
		room->lists += list - p->out;
	return 0;
}

#endif
