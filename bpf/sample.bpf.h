/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which allocations become events. A Poisson process of one point per config.interval bytes runs over
 * the bytes allocated; a block is sampled when a point falls into it. Gaps between points are
 * exponential; BPF has no logarithm, so -ln(u) = k ln 2 - ln(m) for u = m 2^-k, m in [1/2, 1),
 * with a table for the second part.
 */
#ifndef ALYS_SAMPLE_BPF_H
#define ALYS_SAMPLE_BPF_H

#define LN2_Q16 45426 /* ln 2 * 2^16 */

/* -ln(1/2 + (i + 1/2) / 2048) * 2^16, filled by the loader. */
const volatile __u32 neg_ln_q16[1024] __weak = {};

static __always_inline __u64 next_gap(__u64 mean)
{
	__u32 r = bpf_get_prandom_u32();
	/* k = leading zeros of 22 random bits; the chance of all being zero, 2^-22, cuts the tail. */
	__u32 k = 0, bits = r >> 10;
	for (int i = 0; i < 22; i++) {
		if (bits & (1u << i))
			break;
		k++;
	}
	__u64 ln = (__u64)k * LN2_Q16 + neg_ln_q16[r & 1023];
	return (mean * ln) >> 16;
}

/* A gap that was drawn for another rate is drawn anew: it has no memory of how long it has lasted. */
static __always_inline void follow_rate(struct countdown *c)
{
	__u64 mean = interval;
	if (c->interval == mean)
		return;
	c->left = next_gap(mean) + 1;
	c->interval = mean;
}

/* The interval in force when a point falls into these bytes, 0 when none does. */
static __always_inline __u64 sample_point(__u64 size)
{
	__u32 zero = 0;
	struct countdown *c = bpf_map_lookup_elem(&countdowns, &zero);
	if (!c)
		return 0;
	follow_rate(c);
	/* Without a sign: a size that no allocator grants would put the next point off for ever. Read once: so would another
	 * thread's step between the comparison and the difference. */
	__u64 left = c->left;
	if (size < left) {
		c->left = left - size;
		return 0;
	}
	/* The point after the one inside this block: whatever of it is left of the block is
	 * forgotten, which a memoryless gap allows. */
	c->left = next_gap(c->interval) + 1;
	return c->interval;
}

/* Only then are frees of unknown blocks dropped here. */
static __always_inline bool is_selective(void)
{
	return config.interval || config.min_size;
}

static __always_inline struct block_key block_key(__u64 addr)
{
	return (struct block_key){ .addr = addr, .tgid = bpf_get_current_pid_tgid() >> 32 };
}

static __always_inline __u32 *mark_of(__u64 addr)
{
	__u64 tgid = bpf_get_current_pid_tgid() >> 32;
	__u64 i = ALYS_MARK_OF(addr, tgid);
	barrier_var(i);
	/* verifier: of two bounded halves in one number Linux 6.1 knows no bound. */
	return &sampled_marks[i & ((1 << ALYS_MARK_BITS) - 1)];
}

/* Hardly any block was sampled: one word in a processor's cache tells, where the table is a miss in memory. */
static __always_inline bool may_be_sampled(__u64 addr)
{
	return *mark_of(addr);
}

/* The mark first: no free may find the entry without it. An entry that is replaced leaves a mark too many. */
static __always_inline bool sampled_put(__u64 addr, __u64 time)
{
	struct block_key key = block_key(addr);
	__u32 *mark = mark_of(addr);
	__sync_fetch_and_add(mark, 1);
	if (bpf_map_update_elem(&sampled, &key, &time, BPF_ANY) == 0)
		return true;
	__sync_fetch_and_add(mark, -1);
	return false;
}

static __always_inline bool sampled_has(__u64 addr)
{
	struct block_key key = block_key(addr);
	return is_selective() && may_be_sampled(addr) && bpf_map_lookup_elem(&sampled, &key) != NULL;
}

/* Forgets a block that was sampled before `before`; a younger one at the address is another's. */
static __always_inline bool sampled_del(__u64 addr, __u64 before)
{
	struct block_key key = block_key(addr);
	__u64 *time = may_be_sampled(addr) ? bpf_map_lookup_elem(&sampled, &key) : NULL;
	if (!time || *time > before || bpf_map_delete_elem(&sampled, &key))
		return false;
	__sync_fetch_and_add(mark_of(addr), -1);
	return true;
}

#endif
