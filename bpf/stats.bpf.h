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

/* What `n` traps cost is the process' own; only where windows ask for it. */
static __always_inline void charge(__u64 n)
{
	__u32 slot = ALYS_TRAP_SLOT_OF(current_tgid());
	__u64 *sum = config.windowed ? bpf_map_lookup_elem(&traps, &slot) : NULL;
	if (sum)
		__sync_fetch_and_add(sum, n);
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
