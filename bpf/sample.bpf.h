/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which allocations become events. A Poisson process of one point per config.interval bytes runs over the bytes
 * allocated; a block is sampled when a point falls into it. Gaps between points are exponential.
 */
#ifndef ALYS_SAMPLE_BPF_H
#define ALYS_SAMPLE_BPF_H

/* A gap drawn for another rate is drawn again; since it is memoryless, it need not be scaled. */
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
	/*
	 * Compared unsigned, before subtracting: an absurdly large size would otherwise postpone the next point for
	 * ever. Read once, because a change by another task between comparison and subtraction would do the same.
	 */
	__u64 left = c->left;
	if (size < left) {
		c->left = left - size;
		return 0;
	}
	/* The next gap begins at the end of this block, not at the point inside it, which a memoryless gap allows. */
	c->left = next_gap(c->interval) + 1;
	return c->interval;
}

/* Then frees of unknown blocks are dropped here. */
static __always_inline bool is_selective(void)
{
	return config.interval || config.min_size;
}

static __always_inline struct block_key block_key(__u64 addr)
{
	return (struct block_key){ .addr = addr, .tgid = current_tgid() };
}

static __always_inline __u32 *mark_of(__u64 addr)
{
	__u64 tgid = current_tgid();
	__u64 i = ALYS_MARK_OF(addr, tgid);
	barrier_var(i);
	/* verifier: Linux 6.1 does not know the bounds of two bounded parts joined by OR. */
	return &sampled_marks[i & ((1 << ALYS_MARK_BITS) - 1)];
}

/* Few blocks are sampled: one word, mostly in the CPU's cache, saves a lookup in the table, which would be a cache miss. */
static __always_inline bool may_be_sampled(__u64 addr)
{
	return *mark_of(addr);
}

/* The mark first: a free that sees no mark does not look for the entry. A replaced entry leaves its mark one too high. */
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

/* Forgets a block that was sampled before `before`; a later entry is another block at the same address. */
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
