/* SPDX-License-Identifier: Apache-2.0 */
/* bpf/gap.bpf.h: a program that repeats the same few sizes is sampled without bias. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#include "../../vmlinux/vmlinux.h"
#include "bpfhost/helpers.h"

#include "alys.h"

static __u32 bpf_get_prandom_u32(void)
{
	static uint64_t x = 88172645463325252u;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (__u32)(x >> 16);
}

static __u32 neg_ln_q32[ALYS_NEG_LN_CNT];
#include "gap.bpf.h"

#define ROUNDS 10000000

static const uint64_t sizes[] = { 16, 240, 256, 3584, 512 };
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* How often a point falls into a block of each size, in a program that allocates one of each again and again. */
static void sample(uint64_t mean, uint64_t *points)
{
	uint64_t left = next_gap(mean) + 1;
	for (size_t i = 0; i < ROUNDS * SIZES; i++) {
		if (sizes[i % SIZES] < left) {
			left -= sizes[i % SIZES];
			continue;
		}
		points[i % SIZES]++;
		left = next_gap(mean) + 1;
	}
}

static void test_no_size_is_favoured(void **state)
{
	static const uint64_t means[] = { 4096, 16384, 65536, 524288 };
	(void)state;
	for (int i = 0; i < ALYS_NEG_LN_CNT; i++)
		neg_ln_q32[i] = ALYS_NEG_LN_Q32(i);
	for (size_t m = 0; m < sizeof(means) / sizeof(means[0]); m++) {
		uint64_t points[SIZES] = { 0 };
		sample(means[m], points);
		for (size_t s = 0; s < SIZES; s++) {
			double wanted = -expm1(-(double)sizes[s] / (double)means[m]) * ROUNDS;
			print_message("mean %7lu, size %4lu: %+.2f %%, standard error %.2f %%\n", means[m], sizes[s],
				      100 * ((double)points[s] / wanted - 1), 100 / sqrt(wanted));
			assert_true(fabs((double)points[s] - wanted) < 4 * sqrt(wanted));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_size_is_favoured),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
