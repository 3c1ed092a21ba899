/* SPDX-License-Identifier: Apache-2.0 */
/* liveness/object_log: which objects are compared, and until when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "liveness/object_log.h"

#define BASE 0x7f1234000000ull

/* One block of 64-byte objects, the second and the fourth marked. */
static struct boehm_heap made_heap(void)
{
	struct boehm_heap h = { .blocks_cnt = 1, .marks_cnt = 64 };
	h.blocks = calloc(1, sizeof(*h.blocks));
	h.marks = calloc(1, h.marks_cnt);
	h.blocks[0] = (struct heap_block){ .addr = BASE, .bytes = BOEHM_BLOCK, .size = 64, .objects = 64, .kind = HEAP_NORMAL };
	h.marks[1] = h.marks[3] = 1;
	return h;
}

static void expect(struct object_log *b, uint32_t tgid, const uint64_t *wanted, size_t n)
{
	size_t cnt;
	uint64_t *addrs = object_log_of(b, tgid, &cnt);
	assert_non_null(addrs);
	assert_int_equal(cnt, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(addrs[i], wanted[i]);
	free(addrs);
}

static void test_until_found_dead(void **state)
{
	struct object_log b = { 0 };
	struct boehm_heap h = made_heap();
	(void)state;
	object_log_add(&b, 7, BASE + 192, 10);
	object_log_add(&b, 7, BASE, 10);
	object_log_add(&b, 7, BASE + 128, 30); /* since the collection began */
	object_log_add(&b, 8, BASE, 10);       /* of another process */
	object_log_add(&b, 7, BASE + 64, 10);
	expect(&b, 7, (uint64_t[]){ BASE, BASE + 64, BASE + 128, BASE + 192 }, 4);
	object_log_judge(&b, 7, &h, 20);
	expect(&b, 7, (uint64_t[]){ BASE + 64, BASE + 128, BASE + 192 }, 3);
	expect(&b, 8, (uint64_t[]){ BASE }, 1);
	/* Its address was reused: the time of the last allocation counts. */
	object_log_add(&b, 7, BASE + 128, 50);
	object_log_judge(&b, 7, &h, 40);
	expect(&b, 7, (uint64_t[]){ BASE + 64, BASE + 128, BASE + 192 }, 3);
	object_log_judge(&b, 7, &h, 60);
	expect(&b, 7, (uint64_t[]){ BASE + 64, BASE + 192 }, 2);
	assert_int_equal(b.count, 3);
	boehm_heap_free(&h);
	object_log_free(&b);
}

static void test_another_program(void **state)
{
	struct object_log b = { 0 };
	(void)state;
	object_log_add(&b, 7, BASE, 10);
	object_log_add(&b, 7, BASE + 64, 30); /* of the program executed since */
	object_log_forget(&b, 7, 20);
	expect(&b, 7, (uint64_t[]){ BASE + 64 }, 1);
	object_log_forget(&b, 7, 40);
	expect(&b, 7, NULL, 0);
	assert_int_equal(b.count, 0);
	assert_int_equal(b.by_process.count, 0);
	object_log_free(&b);
}

static bool is_seven(void *ctx, uint32_t tgid)
{
	(void)ctx;
	return tgid == 7;
}

/*
 * Objects that were never watched, or only while their process started, take no place in the table from
 * those that are.
 */
static void test_nobody_asks(void **state)
{
	struct object_log b = { 0 };
	uint64_t now = 100 * OBJECT_LOG_SWEEP_NS;
	uint32_t alive = (uint32_t)getpid();
	pid_t dead = fork();
	(void)state;
	if (!dead)
		_exit(0);
	assert_int_equal(waitpid(dead, NULL, 0), dead);
	object_log_add(&b, 7, BASE, 10);
	object_log_add(&b, alive, BASE, 10);
	object_log_add(&b, (uint32_t)dead, BASE, now);
	object_log_sweep(&b, is_seven, NULL, now);
	expect(&b, (uint32_t)dead, NULL, 0);
	/* Its first record may not have been read yet. */
	expect(&b, alive, (uint64_t[]){ BASE }, 1);
	for (int i = 0; i < 20; i++) {
		now += OBJECT_LOG_SWEEP_NS;
		object_log_sweep(&b, is_seven, NULL, now);
		object_log_add(&b, alive, BASE + 64, now);
	}
	expect(&b, 7, (uint64_t[]){ BASE }, 1);
	expect(&b, alive, (uint64_t[]){ BASE + 64 }, 1);
	assert_int_equal(b.count, 2);
	object_log_free(&b);
}

/* A log that lost entries must say so. */
static void test_too_many(void **state)
{
	struct object_log b = { 0 };
	size_t cnt;
	(void)state;
	for (uint64_t i = 0; !b.lost; i++) {
		assert_true(i < 1u << 20);
		object_log_add(&b, 7, BASE + 16 * i, 10);
	}
	assert_null(object_log_of(&b, 7, &cnt));
	object_log_add(&b, 8, BASE, 10);
	assert_null(object_log_of(&b, 8, &cnt));
	object_log_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_until_found_dead),
		cmocka_unit_test(test_another_program),
		cmocka_unit_test(test_nobody_asks),
		cmocka_unit_test(test_too_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
