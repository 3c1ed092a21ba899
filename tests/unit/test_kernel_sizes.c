/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of maps: within their shares of the memory limit, and usable with any limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <bpf/libbpf.h>
#include <cmocka.h>

#include "alys.h"
#include "kernel/sizes.h"
#include "rows.h"

static int processors = 2;

/* Replaces the library's: a machine of any size. */
int libbpf_num_possible_cpus(void)
{
	return processors;
}

static void as_large_as_of_use(void **state)
{
	const uint32_t calls = 1u << ALYS_SUBJECT_ALLOCATIONS;
	struct probe_config any = { .interval = 512 << 10, .ring_sz = 8 << 20, .subjects = calls },
			    fine = { .interval = 16, .ring_sz = 8 << 20, .subjects = calls };
	(void)state;
	assert_int_equal(sizes_of(&any).sampled, 1 << 18);
	assert_int_equal(sizes_of(&fine).sampled, 1 << 20);
	assert_int_equal(sizes_of(&any).chunks, ALYS_MAX_CHUNKS);
	assert_int_equal(sizes_of(&any).mappings, ALYS_MAX_MAPPINGS);
	assert_int_equal(sizes_of(&any).accounts, ALYS_MAX_ACCOUNTS);
	assert_int_equal(sizes_of(&any).slots, 64);
	assert_int_equal(sizes_of(&any).known, 1);
	any.max_frames = 64;
	assert_int_equal(sizes_of(&any).known, 2048);
	assert_int_equal(sizes_of(&(struct probe_config){ 0 }).sampled, 1);
}

static void within_their_shares(void **state)
{
	(void)state;
	for (uint64_t memory = 32ull << 20; memory <= 4ull << 30; memory *= 2) {
		for (uint64_t interval = 16; interval < 1 << 20; interval *= 64) {
			struct probe_config c = { .interval = interval,
						  .subjects = 1u << ALYS_SUBJECT_ALLOCATIONS,
						  .memory = memory,
						  .ring_sz = probe_ring_share(memory, 64 << 20) };
			assert_true(probe_sized(&c) < memory / 2);
			assert_true(sizes_of(&c).sampled >= 4096 && sizes_of(&c).calls >= 1024 && sizes_of(&c).chunks >= 1);
		}
	}
	assert_int_equal(probe_ring_share(256ull << 20, 8 << 20), 8 << 20);
	assert_int_equal(probe_ring_share(32ull << 20, 8 << 20), 1 << 20);
}

static void small_for_one_helper(void **state)
{
	struct probe_config c = { .calls_max = 256, .ring_sz = 2 << 20 };
	(void)state;
	assert_int_equal(sizes_of(&c).calls, 256);
	assert_int_equal(sizes_of(&c).accounts, 64);
	assert_true(probe_sized(&c) < 3 << 20);
}

/* A machine with many processors: maps for each processor must not use up a small limit. */
static void processors_share_what_they_have(void **state)
{
	(void)state;
	for (processors = 1; processors <= 4096; processors *= 4) {
		struct probe_config c = { .interval = 512 << 10, .memory = 64ull << 20, .ring_sz = 4 << 20 };
		struct sizes s = sizes_of(&c);
		assert_true(s.accounts >= 256);
		assert_true(s.accounts == 256 ||
			    (uint64_t)s.accounts * sizeof(struct alys_calls) * (uint64_t)processors <= c.memory / 100);
		assert_true(s.slots >= 8 && s.slots <= 512 && (uint64_t)s.slots * 29000 <= c.memory / 20);
	}
	processors = 2;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_large_as_of_use),
		cmocka_unit_test(within_their_shares),
		cmocka_unit_test(small_for_one_helper),
		cmocka_unit_test(processors_share_what_they_have),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
