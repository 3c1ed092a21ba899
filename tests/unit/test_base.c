/* SPDX-License-Identifier: Apache-2.0 */
/* base: the map against plain arrays; growth in small steps, deletion, keys that collide. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <malloc.h>

#include "base/map.h"

#define KEYS 300000

/* As addresses are: aligned, in a few regions. */
static uint64_t key_of(size_t i)
{
	return 0x7f0000000000ull + (i % 7 << 32) + i * 16;
}

static void fill(struct map *m, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t *v = map_put(m, key_of(i));
		assert_non_null(v);
		assert_int_equal(*v, 0);
		*v = i + 1;
	}
	assert_int_equal(m->count, n);
}

static void test_map_finds_what_was_put(void **state)
{
	struct map m = { 0 };
	(void)state;
	assert_null(map_get(&m, 0));
	assert_false(map_del(&m, 0));
	fill(&m, KEYS);
	for (size_t i = 0; i < KEYS; i++) {
		assert_int_equal(*map_get(&m, key_of(i)), i + 1);
		assert_null(map_get(&m, key_of(i) + 8));
	}
	for (size_t i = 0; i < KEYS; i += 2)
		assert_true(map_del(&m, key_of(i)));
	assert_int_equal(m.count, KEYS / 2);
	for (size_t i = 0; i < KEYS; i++)
		assert_int_equal(map_get(&m, key_of(i)) != NULL, i % 2);
	map_free(&m);
	assert_int_equal(m.count, 0);
}

static void test_map_walks_each_entry_once(void **state)
{
	struct map m = { 0 };
	const struct map_slot *s;
	uint8_t *seen = calloc(KEYS + 1, 1);
	size_t n = 0, i = 0;
	(void)state;
	assert_null(map_next(&m, &i));
	fill(&m, KEYS);
	for (i = 0; (s = map_next(&m, &i)); n++)
		assert_int_equal(seen[s->value]++, 0);
	assert_int_equal(n, KEYS);
	free(seen);
	map_free(&m);
}

/* Memory in use, in the allocator's arena and in mapped chunks. */
static size_t in_use(void)
{
	struct mallinfo2 i = mallinfo2();
	return i.uordblks + i.hblkhd;
}

static void test_map_grows_by_little(void **state)
{
	struct map m = { 0 };
	size_t before = in_use(), most = 0;
	(void)state;
	for (size_t i = 0; i < KEYS; i++) {
		size_t was = in_use();
		*map_put(&m, key_of(i)) = i;
		size_t step = in_use() - was;
		most = i > 1000 && step < SIZE_MAX / 2 && step > most ? step : most;
	}
	/* A sanitizer's allocator has no such counts. */
	if (in_use() != before) {
		assert_in_range(most, 1, 100000);
		assert_in_range(in_use() - before, KEYS * sizeof(struct map_slot), KEYS * sizeof(struct map_slot) * 3);
	}
	map_free(&m);
	assert_in_range(in_use(), 0, before + 65536);
}

struct keeping {
	uint8_t *asked;
	size_t parts;
};

static bool every_nth(void *ctx, const struct map_slot *s)
{
	struct keeping *k = ctx;
	assert_int_equal(k->asked[s->value]++, 0);
	return s->value % k->parts == 0;
}

static void test_map_keeps_some(void **state)
{
	struct map m = { 0 };
	(void)state;
	map_keep(&m, every_nth, NULL);
	for (size_t parts = 1; parts <= 64; parts *= 4) {
		struct keeping k = { calloc(KEYS + 1, 1), parts };
		fill(&m, KEYS);
		size_t wide = m.parts_cnt;
		map_keep(&m, every_nth, &k);
		assert_int_equal(m.count, KEYS / parts);
		for (size_t i = 0; i < KEYS; i++) {
			const uint64_t *v = map_get(&m, key_of(i));
			assert_int_equal(k.asked[i + 1], 1);
			assert_int_equal(v ? *v : 0, (i + 1) % parts ? 0 : i + 1);
		}
		if (parts > 1)
			assert_true(m.parts_cnt * parts <= wide * 2);
		free(k.asked);
		map_free(&m);
	}
}

/* Keys whose hashes are equal in all bits by which tables are split. */
static void test_map_bears_keys_that_collide(void **state)
{
	struct map m = { 0 };
	uint64_t inverse = 0xf1de83e19937733dull; /* of the hash's constant, modulo 2^64 */
	(void)state;
	assert_int_equal(inverse * 0x9e3779b97f4a7c15ull, 1);
	for (uint64_t i = 0; i < 5000; i++) {
		uint64_t y = (i & 0xfffff) * inverse;
		*map_put(&m, y ^ y >> 32) = i + 1;
	}
	assert_int_equal(m.count, 5000);
	assert_in_range(m.parts_cnt, 1, 5000 / 64 * 2);
	map_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_map_finds_what_was_put),      cmocka_unit_test(test_map_walks_each_entry_once),
		cmocka_unit_test(test_map_grows_by_little),         cmocka_unit_test(test_map_keeps_some),
		cmocka_unit_test(test_map_bears_keys_that_collide),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
