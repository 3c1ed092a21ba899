/* SPDX-License-Identifier: GPL-2.0 */
/* count(ALYS_ST_X): the only way to count. Atomic, because on preemptible kernels two tasks of one
 * CPU may be in these programs at the same time. */
#ifndef ALYS_STATS_BPF_H
#define ALYS_STATS_BPF_H

static __always_inline void count(enum alys_stat id)
{
	__u32 zero = 0;
	struct alys_stats *s = bpf_map_lookup_elem(&stats, &zero);
	if (s)
		__sync_fetch_and_add(&s->n[id], 1);
}

#endif
