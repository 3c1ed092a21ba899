/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Exponential gaps. BPF has no logarithm, so -ln(u) = k ln 2 - ln(m) for u = m 2^-k, m in [1/2, 1), with a table for the
 * second part, between whose entries it is linear. Without that, gaps come in steps of a thousandth of their mean, and a
 * program that repeats the same sizes has blocks into which too many of them fall, or none.
 */
#ifndef ALYS_GAP_BPF_H
#define ALYS_GAP_BPF_H

#define LN2_Q32 2977044472ull /* ln 2 * 2^32 */

/* mean: at most 2^40. */
static __always_inline __u64 next_gap(__u64 mean)
{
	__u32 r = bpf_get_prandom_u32(), i = r & (ALYS_NEG_LN_CNT - 2);
	/* k = trailing zeros of 22 random bits; the chance of all being zero, 2^-22, cuts the tail. */
	__u32 k = 0, bits = r >> 10;
	for (int bit = 0; bit < 22; bit++) {
		if (bits & (1u << bit))
			break;
		k++;
	}
	__u64 above = neg_ln_q32[i + 1], step = neg_ln_q32[i] - above;
	__u64 ln = k * LN2_Q32 + above + (step * bpf_get_prandom_u32() >> 32);
	return (mean * (ln >> 16) >> 16) + (mean * (ln & 0xffff) >> 32);
}

#endif
