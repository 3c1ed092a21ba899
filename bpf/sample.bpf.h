/* SPDX-License-Identifier: GPL-2.0 */
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

static __always_inline __s64 next_gap(void)
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
	return (config.interval * ln) >> 16;
}

/* True when a point falls into these bytes. */
static __always_inline bool sample_take(__u64 size)
{
	if (!config.interval)
		return true;
	__u32 zero = 0;
	__s64 *left = bpf_map_lookup_elem(&countdown, &zero);
	if (!left)
		return false;
	__s64 rest = *left - (__s64)size;
	if (rest > 0) {
		*left = rest;
		return false;
	}
	/* The point after the one inside this block: whatever of it is left of the block is
	 * forgotten, which a memoryless gap allows. */
	*left = next_gap() + 1;
	return true;
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

static __always_inline bool sampled_put(__u64 addr, __u64 time)
{
	struct block_key key = block_key(addr);
	return bpf_map_update_elem(&sampled, &key, &time, BPF_ANY) == 0;
}

static __always_inline bool sampled_has(__u64 addr)
{
	struct block_key key = block_key(addr);
	return is_selective() && bpf_map_lookup_elem(&sampled, &key) != NULL;
}

/* Forgets a block that was sampled before `before`; a younger one at the address is another's. */
static __always_inline bool sampled_del(__u64 addr, __u64 before)
{
	struct block_key key = block_key(addr);
	__u64 *time = bpf_map_lookup_elem(&sampled, &key);
	if (!time || *time > before)
		return false;
	return bpf_map_delete_elem(&sampled, &key) == 0;
}

#endif
