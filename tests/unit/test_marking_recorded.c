/* SPDX-License-Identifier: Apache-2.0 */
/* marking/recorded: against a simple model, on heaps made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "machine/address.h"
#include "marking/recorded.h"

#define BASE 0x7f1234000000ull

/* A heap of one-block runs from BASE on: objects of `size`, marked as marks says. */
static struct boehm_heap made_heap(size_t blocks, uint64_t size, uint8_t kind, const uint8_t *marks)
{
	uint32_t each = (uint32_t)(BOEHM_BLOCK / size);
	struct boehm_heap h = { .blocks_cnt = blocks, .marks_cnt = blocks * each };
	h.blocks = calloc(blocks + 1, sizeof(*h.blocks));
	h.marks = malloc(h.marks_cnt + 1);
	h.pages = calloc(blocks + 1, sizeof(*h.pages));
	h.first_page = BASE / BOEHM_BLOCK;
	h.pages_cnt = blocks;
	memcpy(h.marks, marks, h.marks_cnt);
	for (size_t i = 0; i < blocks; i++) {
		h.blocks[i] = (struct heap_block){ .addr = BASE + i * BOEHM_BLOCK,
						   .bytes = BOEHM_BLOCK,
						   .size = size,
						   .objects = each,
						   .marks = i * each,
						   .kind = kind };
		h.pages[i] = (uint32_t)i + 1;
	}
	return h;
}

struct dead {
	uint64_t addr[200000];
	size_t cnt;
	uint64_t sz;
};

static int on_dead(void *ctx, uint64_t addr, uint64_t size)
{
	struct dead *d = ctx;
	assert_true(d->cnt < sizeof(d->addr) / sizeof(d->addr[0]));
	assert_true(!d->cnt || addr > d->addr[d->cnt - 1]);
	d->addr[d->cnt++] = addr;
	d->sz += size;
	return 0;
}

static void test_put_and_take(void **state)
{
	(void)state;
	enum { N = 30000 };
	static uint64_t sizes[N];
	struct recorded o = { 0 };
	uint64_t size;
	srandom(7);
	assert_false(recorded_take(&o, BASE, &size));
	size_t count = 0;
	for (int step = 0; step < 300000; step++) {
		size_t i = (size_t)random() % N;
		uint64_t addr = ADDRESS_END - 16 * (i + 1), old = 0;
		if (random() % 2) {
			uint64_t fresh = (uint64_t)random() << (random() % 20);
			assert_int_equal(recorded_put(&o, addr, fresh, &old), sizes[i] != 0);
			assert_true(!sizes[i] || old == sizes[i] - 1);
			count += !sizes[i];
			sizes[i] = fresh + 1;
		} else {
			assert_int_equal(recorded_take(&o, addr, &size), sizes[i] != 0);
			assert_true(!sizes[i] || size == sizes[i] - 1);
			count -= sizes[i] != 0;
			sizes[i] = 0;
		}
		if (step % 10000 == 0)
			recorded_marked(&o);
		assert_int_equal(o.count, count);
	}
	recorded_free(&o);
}

static void test_who_dies(void **state)
{
	(void)state;
	static struct dead dead;
	uint8_t marks[4096 / 64] = { [1] = 1, [3] = 1 };
	struct boehm_heap h = made_heap(1, 64, HEAP_NORMAL, marks);
	struct recorded o = { 0 };
	uint64_t old;
	dead = (struct dead){ 0 };
	for (uint64_t i = 0; i < 5; i++)
		assert_int_equal(recorded_put(&o, BASE + 64 * i, 10 + i, &old), 0);
	recorded_put(&o, BASE + 64 * 3 + 16, 5, &old);        /* inside a marked one: aligned */
	recorded_put(&o, BASE + 2 * BOEHM_BLOCK, 1000, &old); /* its block is gone */
	/* Nothing is judged before a collection has marked. */
	assert_int_equal(recorded_apply(&o, &h, on_dead, &dead), 0);
	assert_int_equal(dead.cnt, 0);
	recorded_marked(&o);
	recorded_put(&o, BASE + 64 * 9, 1, &old); /* allocated too late */
	recorded_put(&o, BASE + 64 * 4, 2, &old); /* allocated again */
	assert_int_equal(recorded_apply(&o, &h, on_dead, &dead), 0);
	assert_int_equal(dead.cnt, 3);
	assert_int_equal(dead.addr[0], BASE);
	assert_int_equal(dead.addr[1], BASE + 128);
	assert_int_equal(dead.addr[2], BASE + 2 * BOEHM_BLOCK);
	assert_int_equal(dead.sz, 10 + 12 + 1000);
	assert_int_equal(o.count, 5);
	/* Uncollectable objects are freed by calls only. */
	h.blocks[0].kind = HEAP_UNCOLLECTABLE;
	recorded_marked(&o);
	assert_int_equal(recorded_apply(&o, &h, on_dead, &dead), 0);
	assert_int_equal(dead.cnt, 3);
	recorded_free(&o);
	boehm_heap_free(&h);
}

/* A reading of some blocks says nothing about objects in other blocks. */
static void test_reading_in_part(void **state)
{
	(void)state;
	static struct dead dead;
	uint8_t marks[4096 / 64] = { [1] = 1 };
	struct boehm_heap h = made_heap(1, 64, HEAP_NORMAL, marks);
	struct recorded o = { 0 };
	uint64_t old, *asked = calloc(3, sizeof(*asked));
	dead = (struct dead){ 0 };
	for (uint64_t i = 0; i < 3; i++)
		recorded_put(&o, BASE + 64 * i, 1, &old);
	recorded_put(&o, BASE + 2 * BOEHM_BLOCK, 1, &old);
	recorded_put(&o, BASE + 3 * BOEHM_BLOCK, 1, &old);
	recorded_marked(&o);
	asked[0] = BASE;
	asked[1] = BASE + 64;
	asked[2] = BASE + 2 * BOEHM_BLOCK;
	h.asked = asked;
	h.asked_cnt = 3;
	assert_int_equal(recorded_apply(&o, &h, on_dead, &dead), 0);
	assert_int_equal(dead.cnt, 2);
	assert_int_equal(dead.addr[0], BASE);
	assert_int_equal(dead.addr[1], BASE + 2 * BOEHM_BLOCK);
	recorded_free(&o);
	boehm_heap_free(&h);
}

static double seconds(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int count_dead(void *ctx, uint64_t addr, uint64_t size)
{
	(void)addr, (void)size;
	++*(size_t *)ctx;
	return 0;
}

static void test_a_million(void **state)
{
	(void)state;
	enum { N = 1000000, EACH = 128 }; /* of 32 bytes a block */
	size_t blocks = N / EACH + 1, dead = 0;
	uint8_t *marks = malloc(blocks * EACH);
	struct recorded o = { 0 };
	uint64_t old;
	for (size_t i = 0; i < blocks * EACH; i++)
		marks[i] = i % 2;
	struct boehm_heap h = made_heap(blocks, 32, HEAP_ATOMIC, marks);
	for (uint64_t i = 0; i < N; i++)
		assert_int_equal(recorded_put(&o, BASE + 32 * i, 32, &old), 0);
	recorded_marked(&o);
	double from = seconds();
	assert_int_equal(recorded_apply(&o, &h, count_dead, &dead), 0);
	print_message("a million objects, half of them dead: %.0f ms\n", (seconds() - from) * 1e3);
	assert_int_equal(dead, N / 2);
	assert_int_equal(o.count, N / 2);
	free(marks);
	recorded_free(&o);
	boehm_heap_free(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_put_and_take),
		cmocka_unit_test(test_who_dies),
		cmocka_unit_test(test_reading_in_part),
		cmocka_unit_test(test_a_million),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
