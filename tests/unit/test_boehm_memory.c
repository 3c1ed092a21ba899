/* SPDX-License-Identifier: Apache-2.0 */
/* boehm/memory: what the last reading read is read ahead, in one call, and is as new as if it had not been. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "boehm/memory.h"

#define PAGE 4096

static volatile uint64_t first = 1, second = 2, third = 3;
static volatile uint64_t *volatile way = &first;

static uint64_t address(const volatile void *p)
{
	return (uint64_t)(uintptr_t)p;
}

/* One word after another; the number of calls that it took. */
static uint64_t read_words(struct memory_ahead *a, uint32_t tgid, uint64_t *out)
{
	const struct rights_range two[] = { { address(&second), 8 }, { address(&third), 8 } };
	struct memory m = { .tgid = tgid };
	size_t bad;
	memory_ahead_begin(&m, a);
	assert_int_equal(memory_read(&m, address(&first), &out[0], 8), 0);
	assert_int_equal(memory_read_ranges(&m, two, 2, &out[1], &bad), 0);
	assert_int_equal(bad, 0);
	return m.reads;
}

static void expect_words(const uint64_t *words, uint64_t a, uint64_t b, uint64_t c)
{
	assert_int_equal(words[0], a);
	assert_int_equal(words[1], b);
	assert_int_equal(words[2], c);
}

static void test_the_same_again_takes_one_call(void **state)
{
	struct memory_ahead a = { 0 };
	uint64_t words[3];
	(void)state;
	assert_int_equal(read_words(&a, (uint32_t)getpid(), words), 2);
	expect_words(words, 1, 2, 3);
	for (uint64_t i = 0; i < 3; i++) {
		first = 10 + i;
		third = 30 + i;
		assert_int_equal(read_words(&a, (uint32_t)getpid(), words), 1);
		expect_words(words, 10 + i, 2, 30 + i);
	}
	first = 1;
	third = 3;
	memory_ahead_free(&a);
}

/* What is read depends on what was read before. */
static uint64_t read_through(struct memory_ahead *a, uint64_t *out)
{
	struct memory m = { .tgid = (uint32_t)getpid() };
	uint64_t at;
	memory_ahead_begin(&m, a);
	assert_int_equal(memory_read(&m, address(&way), &at, 8), 0);
	assert_int_equal(memory_read(&m, at, out, 8), 0);
	return m.reads;
}

static void test_another_way_is_followed(void **state)
{
	struct memory_ahead a = { 0 };
	uint64_t got;
	(void)state;
	assert_int_equal(read_through(&a, &got), 2);
	assert_int_equal(read_through(&a, &got), 1);
	assert_int_equal(got, 1);
	way = &second;
	assert_int_equal(read_through(&a, &got), 2);
	assert_int_equal(got, 2);
	assert_int_equal(read_through(&a, &got), 1);
	assert_int_equal(got, 2);
	way = &first;
	memory_ahead_free(&a);
}

/* The child has the same addresses, and other words there. */
static void test_each_process_has_its_own(void **state)
{
	struct memory_ahead a = { 0 };
	uint64_t words[3];
	(void)state;
	first = 7;
	pid_t child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	first = 1;
	read_words(&a, (uint32_t)getpid(), words);
	expect_words(words, 1, 2, 3);
	assert_int_equal(read_words(&a, (uint32_t)child, words), 2);
	expect_words(words, 7, 2, 3);
	assert_int_equal(read_words(&a, (uint32_t)child, words), 1);
	expect_words(words, 7, 2, 3);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	memory_ahead_free(&a);
}

/* Before and after a page that is there only at first. */
static void test_what_is_gone_is_not_read(void **state)
{
	uint8_t *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct memory_ahead a = { 0 };
	uint64_t got;
	(void)state;
	for (int i = 0; i < 3; i++) {
		struct memory m = { .tgid = (uint32_t)getpid() };
		memory_ahead_begin(&m, &a);
		assert_int_equal(memory_read(&m, address(&first), &got, 8), 0);
		assert_int_equal(memory_read(&m, address(page), &got, 8), i ? -EFAULT : 0);
		assert_int_equal(memory_read(&m, address(&third), &got, 8), 0);
		assert_int_equal(got, 3);
		munmap(page, PAGE);
	}
	memory_ahead_free(&a);
}

static void test_much_is_not_read_ahead(void **state)
{
	static uint8_t large[MEMORY_AHEAD_BYTES], out[sizeof(large)];
	struct memory_ahead a = { 0 };
	uint64_t got;
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct memory m = { .tgid = (uint32_t)getpid() };
		memory_ahead_begin(&m, &a);
		for (size_t j = 0; j <= MEMORY_AHEAD_RANGES; j++)
			assert_int_equal(memory_read(&m, address(&large[8 * j]), &got, 8), 0);
		assert_int_equal(m.reads, MEMORY_AHEAD_RANGES + 1);
	}
	for (int i = 0; i < 2; i++) {
		struct memory m = { .tgid = (uint32_t)getpid() };
		memory_ahead_begin(&m, &a);
		assert_int_equal(memory_read(&m, address(large), out, sizeof(large)), 0);
		assert_int_equal(memory_read(&m, address(&first), &got, 8), 0);
		assert_int_equal(m.reads, 2);
	}
	memory_ahead_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_same_again_takes_one_call), cmocka_unit_test(test_another_way_is_followed),
		cmocka_unit_test(test_each_process_has_its_own),      cmocka_unit_test(test_what_is_gone_is_not_read),
		cmocka_unit_test(test_much_is_not_read_ahead),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
