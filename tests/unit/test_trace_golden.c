/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace: the writer's output equals the golden file. ALYS_MAKE_GOLDEN=1 writes the file of a
 * new version when there is none; an old one is never written again.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/trace_sample.h"

#define GOLDEN "tests/golden/v1.alys"

static void test_same_content(void **state)
{
	(void)state;
	if (getenv("ALYS_MAKE_GOLDEN")) {
		int made = open(GOLDEN, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		assert_true(made >= 0);
		assert_int_equal(sample_write(trace_writer_new(made, &sample_clock, NULL)), 0);
	}
	int fd = memory_file(NULL, 0);
	assert_int_equal(sample_write(trace_writer_new(dup(fd), &sample_clock, NULL)), 0);
	struct view new = view_of(fd), old = view_of(open(GOLDEN, O_RDONLY | O_CLOEXEC));
	assert_true(old.opened);
	assert_int_equal(new.events_cnt, old.events_cnt);
	for (size_t i = 0; i < old.events_cnt; i++) {
		assert_int_equal(new.events[i].kind, old.events[i].kind);
		assert_true(new.events[i].time_ns == old.events[i].time_ns);
		assert_true(new.events[i].addr == old.events[i].addr);
		assert_true(new.events[i].old_addr == old.events[i].old_addr);
		assert_true(new.events[i].size == old.events[i].size);
		assert_int_equal(new.events[i].stack.n, old.events[i].stack.n);
	}
	assert_int_equal(new.health.frames, old.health.frames);
	view_free(&new);
	view_free(&old);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_same_content) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
