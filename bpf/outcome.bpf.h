/* SPDX-License-Identifier: GPL-2.0-only */
/* The outcome of a call, once its result is known: an event, or the counter that says why there is none. */
#ifndef ALYS_OUTCOME_BPF_H
#define ALYS_OUTCOME_BPF_H

/*
 * Remembers a block so that its free will be recorded; false if the table is full. Blocks of a collector fill it over
 * time, because most of their frees are not seen here. They are recorded even without an entry: then explicit frees are
 * missed, and the others are known from the collector.
 */
static __always_inline bool remember(const struct pending *p, __u64 addr)
{
	return p->unfreed || (config.no_frees && !p->collected) || sampled_put(addr, p->enter) || p->collected;
}

/* In a selective recording either block may be unsampled. */
static __always_inline void finish_realloc(const struct pending *p, __u64 addr)
{
	__u64 old = p->old;
	if (!is_selective()) {
		if (p->sampled)
			emit_realloc(p, addr, old);
		else
			count(ALYS_ST_UNSAMPLED);
		return;
	}
	if (old && !sampled_del(old, p->enter))
		old = 0;
	bool wanted = addr && p->sampled, kept = wanted && remember(p, addr);
	if (kept) {
		emit_realloc(p, addr, old);
	} else if (wanted && !old) {
		count_loss(ALYS_ST_LOST_SAMPLED_FULL);
	} else if (old) {
		if (wanted)
			count(ALYS_ST_HALF_REALLOC);
		/* The block was freed when the call began, not later: its address may have been reused. */
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
		count_loss(ALYS_ST_LOST_SAMPLED_FULL);
	else
		emit_alloc(p, addr);
}

/* Iterates over the blocks of a list. */
struct batch {
	const struct pending *p;
	__u64 block;
};

/* The call was one hit; each further block is another. */
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

/* When sampling, the first block of a list stands for all. */
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
			count_loss(ALYS_ST_LOST_READ);
			return;
		}
	}
	if (!addr && !(is_reallocation(p->shape) && p->old && !p->size && p->frees_on_zero))
		count(ALYS_ST_FAILED);
	else if (is_reallocation(p->shape) && p->old && (!config.no_frees || p->collected))
		finish_realloc(p, addr);
	else
		finish_alloc(p, addr);
}

#endif
