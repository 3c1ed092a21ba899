/* SPDX-License-Identifier: Apache-2.0 */
/* trace: parts of a heap beside events, for readers that want them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/trace.h"

static int take(void *ctx, const void *bytes, size_t n)
{
	char *at = ctx;
	strncat(at, bytes, n);
	return 0;
}

static int count(void *ctx, const struct event *e)
{
	*(int *)ctx += e->kind == EVENT_ALLOC;
	return 0;
}

static void write_sample(int fd)
{
	struct trace_clock clock = { 1000, 2000, 3000 };
	struct err err = { 0 };
	struct trace_writer *w = trace_writer_new(dup(fd), &clock, &err);
	struct event e = { .kind = EVENT_ALLOC, .time_ns = 1001, .addr = 0x1000, .size = 8 };
	struct buf part = { 0 };
	assert_non_null(w);
	trace_write_event(w, &e);
	for (int i = 0; i < 3; i++) {
		buf_reset(&part);
		buf_addf(&part, "part %d;", i);
		assert_int_equal(trace_write_part(w, &part), 0);
	}
	assert_int_equal(trace_writer_close(w, &err), 0);
	buf_free(&part);
}

static void test_parts(void **state)
{
	(void)state;
	char text[64] = "";
	int events = 0, fd = memfd_create("trace", 0);
	struct err err = { 0 };
	struct trace_health health;
	write_sample(fd);
	struct trace *t = trace_open(fd, "trace", &err);
	struct catalog *c = catalog_new();
	assert_int_equal(trace_read_catalog(t, c, &health, &err), 0);
	assert_true(health.clean_end);
	assert_int_equal(health.bad_frames, 0);
	assert_int_equal(trace_each_event(t, count, &events, &err), 0);
	assert_int_equal(events, 1);
	assert_int_equal(trace_each_part(t, take, text, &err), 0);
	assert_string_equal(text, "part 0;part 1;part 2;");
	catalog_free(c);
	trace_close(t);
}

static void test_too_large(void **state)
{
	(void)state;
	static const char zeros[4096];
	struct trace_clock clock = { 1, 2, 3 };
	struct err err = { 0 };
	struct buf part = { 0 };
	struct trace_writer *w = trace_writer_new(memfd_create("trace", 0), &clock, &err);
	while (part.len <= 512 << 10)
		buf_add(&part, zeros, sizeof(zeros));
	assert_int_equal(trace_write_part(w, &part), -E2BIG);
	assert_int_equal(trace_writer_close(w, &err), -E2BIG);
	buf_free(&part);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_parts), cmocka_unit_test(test_too_large) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
