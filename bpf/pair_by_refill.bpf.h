/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * No pairing: one probe after a free list's refill, or after a whole call, reads from registers and from the list what
 * otherwise a probe at the entry would.
 */
#ifndef ALYS_PAIR_BY_REFILL_BPF_H
#define ALYS_PAIR_BY_REFILL_BPF_H

static const struct pending no_call;

/* Size and kind of the blocks, from the list's index. False if the list is not the thread's. */
static __noinline bool refill_read(struct call_room *room, const struct alys_object *o, __u64 list)
{
	struct pending *p = &room->now;
	__u64 index = (list - room->lists) / 8;
	__u32 per_kind = o->lists.per_kind;
	if (list < room->lists || !per_kind || index >= (__u64)o->lists.kinds * per_kind || !read_word(&room->result, list))
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

/* A finished call with size and kind still in registers, so that its entry need not be probed. */
static __noinline struct call_room *whole_begin(struct pt_regs *ctx, const struct alys_site *site)
{
	__u64 cfa = PT_REGS_SP(ctx) + site->cfa_off, size = argument(ctx, site->arg[0]);
	__u64 interval = sample_point(size);
	if (!interval) {
		count(ALYS_ST_UNSAMPLED);
		return NULL;
	}
	__u64 begun = sample_begins();
	if (is_internal(ctx, site, caller_at(cfa, LINK_REGISTER(ctx)))) {
		count(ALYS_ST_NESTED);
		return NULL;
	}
	struct call_room *room = thread_room();
	if (!room) {
		count_loss(ALYS_ST_LOST_PENDING);
		return NULL;
	}
	struct pending *p = &room->now;
	*p = no_call;
	p->size = size;
	p->flags = holds_no_pointers(argument(ctx, site->kind_arg)) ? ALYS_F_ATOMIC : 0;
	p->sampled = size >= config.min_size;
	p->unfreed = 1;
	p->interval = interval;
	p->start = start_of(site, cfa);
	note_window(site, p);
	read_gc(ctx, site, p, false);
	room->result = register_of(ctx, site);
	p->enter = begun;
	return room;
}

/*
 * A thread's empty free list was refilled with a page of blocks; the call that found it empty takes the first. One
 * probe after the refill, in GC_malloc_kind's own frame: few refills are sampled, and for the others a second probe at
 * the start would double the cost.
 */
static __noinline struct call_room *refill_begin(struct pt_regs *ctx)
{
	const struct alys_site *site = wanted_call(ctx);
	const struct alys_object *o = site ? object_of(site) : NULL;
	if (!o)
		return NULL;
	count_hit(site->shape);
	if (site->flags & ALYS_SITE_WHOLE_CALL)
		return whole_begin(ctx, site);
	__u64 interval = sample_point(ALYS_REFILL_SPAN);
	if (!interval) {
		count(ALYS_ST_UNSAMPLED);
		return NULL;
	}
	__u64 begun = sample_begins();
	struct call_room *room = thread_room();
	if (!room) {
		count_loss(ALYS_ST_LOST_PENDING);
		return NULL;
	}
	if (!lists_known(room, site, o, bias_of(ctx, site)) || !refill_read(room, o, register_of(ctx, site))) {
		count_loss(ALYS_ST_LOST_READ);
		return NULL;
	}
	note_window(site, &room->now);
	read_gc(ctx, site, &room->now, false);
	room->now.interval = interval;
	room->now.enter = begun;
	room->now.start = start_of(site, PT_REGS_SP(ctx) + site->cfa_off);
	return room;
}

static __noinline int refill_end(struct call_room *room)
{
	if (room->result)
		finish_alloc(&room->now, room->result);
	else
		count(ALYS_ST_FAILED);
	charge_sample(room->now.enter);
	return 0;
}

#endif
