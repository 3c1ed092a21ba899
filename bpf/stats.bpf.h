/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * count(ALYS_ST_X), count_sum for more than one, and count_loss(ALYS_ST_LOST_X) for missing events: the only ways to count.
 * They return what this processor had counted before. Atomic, because on preemptible kernels two tasks of one CPU may be in
 * these programs at the same time.
 */
#ifndef ALYS_STATS_BPF_H
#define ALYS_STATS_BPF_H

static __always_inline __u64 count_sum(enum alys_stat id, __u64 n)
{
	__u32 zero = 0;
	struct alys_stats *s = bpf_map_lookup_elem(&stats, &zero);
	return s ? __sync_fetch_and_add(&s->n[id], n) : 0;
}

static __always_inline __u64 count(enum alys_stat id)
{
	return count_sum(id, 1);
}

/* Only where windows ask for it. */
static __always_inline struct alys_taken *taken_here(void)
{
	if (!config.windowed)
		return NULL;
	__u32 slot = ALYS_TAKEN_SLOT_OF(current_tgid());
	return bpf_map_lookup_elem(&taken, &slot);
}

/* A window's probe has stopped this process. */
static __always_inline void charge_trap(void)
{
	struct alys_taken *t = taken_here();
	if (t)
		__sync_fetch_and_add(&t->traps, 1);
}

/* A return probe has stopped this process. It has a price of its own: newer kernels are entered there by a system call. */
static __always_inline void charge_return(void)
{
	struct alys_taken *t = taken_here();
	if (!config.windowed)
		return;
	count(ALYS_ST_TRAPS);
	count(ALYS_ST_TRAPS_RETURN);
	if (t)
		__sync_fetch_and_add(&t->returns, 1);
}

/* When the work for a sample begins; 0 if nobody asks what it takes. */
static __always_inline __u64 sample_begins(void)
{
	return config.windowed ? bpf_ktime_get_ns() : 0;
}

/* Counts what has passed since, as `id`; returns it. */
static __always_inline __u64 count_since(__u64 begun, __u32 id)
{
	if (!config.windowed || !begun)
		return 0;
	__u64 took = bpf_ktime_get_ns() - begun;
	if (took > ALYS_SAMPLE_NS_MAX)
		took = ALYS_SAMPLE_NS_MAX;
	count_sum(id, took);
	return took;
}

/* Counts what a sample took. */
static __always_inline void count_sample(__u64 begun)
{
	count_since(begun, ALYS_ST_SAMPLE_TIME);
}

/* The same, of what only windows take of the process. */
static __always_inline void charge_since(__u64 begun, __u32 id)
{
	__u64 took = count_since(begun, id);
	struct alys_taken *t = took ? taken_here() : NULL;
	if (t)
		__sync_fetch_and_add(&t->sample_ns, took);
}

static __always_inline void charge_sample(__u64 begun)
{
	charge_since(begun, ALYS_ST_SAMPLE_TIME);
}

static __always_inline void charge_collection(__u64 begun)
{
	charge_since(begun, ALYS_ST_GC_TIME);
}

static const struct alys_losses no_losses;

/* Counts a lost call by function. Functions beyond ALYS_LOST_FUNCTIONS are only in the sum. */
__weak __noinline int count_lost_call(__u32 account)
{
	__u32 tgid = current_tgid();
	struct alys_losses *l = bpf_map_lookup_elem(&losses, &tgid);
	if (!l || !account)
		return 0;
	for (int i = 0; i < ALYS_LOST_FUNCTIONS; i++) {
		__u64 had = __sync_val_compare_and_swap(&l->left[i].account, 0, account);
		if (had && had != account)
			continue;
		__sync_fetch_and_add(&l->left[i].n, 1);
		break;
	}
	return 0;
}

/* Global, so that it is verified once and not for each call. */
__weak __noinline int count_loss(__u32 id)
{
	__u32 zero = 0, tgid = current_tgid(), i = id - ALYS_LOSS_FIRST;
	/* Otherwise the compiler compares i but indexes by id, whose bounds old verifiers then do not know. */
	barrier_var(i);
	struct alys_stats *s = bpf_map_lookup_elem(&stats, &zero);
	if (!s || i >= ALYS_LOSS_CNT)
		return 0;
	__sync_fetch_and_add(&s->n[ALYS_LOSS_FIRST + i], 1);
	struct alys_losses *l = bpf_map_lookup_elem(&losses, &tgid);
	if (!l) {
		bpf_map_update_elem(&losses, &tgid, &no_losses, BPF_NOEXIST);
		l = bpf_map_lookup_elem(&losses, &tgid);
	}
	if (l)
		__sync_fetch_and_add(&l->n[i], 1);
	return 0;
}

#endif
