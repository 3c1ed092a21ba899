/* SPDX-License-Identifier: Apache-2.0 */
/* trace: a file that cannot grow. What was written stays readable, what was dropped is counted. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "trace/tape.h"
#include "unit/trace_sample.h"

#define EVENTS 300000

static char path[] = "/tmp/alys-test-XXXXXX";

static void limit(rlim_t bytes)
{
	struct rlimit r;
	getrlimit(RLIMIT_FSIZE, &r);
	r.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &r), 0);
}

static int setup(void **state)
{
	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	memcpy(path + sizeof(path) - 7, "XXXXXX", 6);
	int fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
	(void)state;
	limit(RLIM_INFINITY);
	return unlink(path);
}

static struct event event_no(unsigned int i)
{
	return (struct event){ .kind = i % 3 == 2 ? EVENT_FREE : EVENT_ALLOC,
			       .proc = { 1 },
			       .stack = { i % 3 == 2 ? 0 : 1 + i % 3 },
			       .time_ns = SAMPLE_T0 + i * 20000ull,
			       .addr = (i * 2654435761u) | 1,
			       .size = i % 3 == 2 ? 0 : i };
}

/* Events by kind in the file, and those counted by LOSS events. */
static void tally(const struct view *v, uint64_t *seen, uint64_t *lost)
{
	for (size_t i = 0; i < v->events_cnt; i++) {
		const struct event *e = &v->events[i];
		if (e->kind == EVENT_LOSS)
			lost[e->lost_kind] += e->size;
		else
			seen[e->kind]++;
	}
}

static void assert_nothing_silent(const struct view *v, uint64_t dropped)
{
	uint64_t seen[8] = { 0 }, lost[8] = { 0 };
	tally(v, seen, lost);
	assert_int_equal(seen[EVENT_ALLOC] + lost[EVENT_ALLOC], EVENTS / 3 * 2);
	assert_int_equal(seen[EVENT_FREE] + lost[EVENT_FREE], EVENTS / 3);
	assert_true(dropped > 0);
	assert_int_equal(lost[EVENT_ALLOC] + lost[EVENT_FREE], dropped);
}

/* The limit is set at a third and lifted at two thirds, some seconds of trace time later. */
static void test_room_returns(void **state)
{
	(void)state;
	struct trace_writer *w = trace_writer_new(open(path, O_RDWR | O_CLOEXEC), &sample_clock, NULL);
	assert_int_equal(sample_define(w), 0);
	int errors = 0;
	for (unsigned int i = 0; i < EVENTS; i++) {
		struct event e = event_no(i);
		if (i == EVENTS / 3)
			limit((rlim_t)trace_bytes(w) + 1000);
		if (i == EVENTS / 3 * 2)
			limit(RLIM_INFINITY);
		errors += trace_write_event(w, &e) != 0;
	}
	uint64_t dropped = trace_dropped(w);
	struct err err = { 0 };
	assert_true(errors > 0);
	assert_int_equal(trace_writer_close(w, &err), -EFBIG);
	assert_int_equal(err.code, EFBIG);
	struct view v = view_of(open(path, O_RDONLY | O_CLOEXEC));
	assert_int_equal(v.health.bad_frames, 0);
	assert_int_equal(v.health.skipped_bytes, 0);
	assert_true(v.health.clean_end);
	assert_nothing_silent(&v, dropped);
	assert_non_null(catalog_stack(v.c, (struct stack_id){ 2 }));
	view_free(&v);
}

/* No space until the end: whole frames only, without a torn tail. */
static void test_room_never_returns(void **state)
{
	(void)state;
	struct trace_writer *w = trace_writer_new(open(path, O_RDWR | O_CLOEXEC), &sample_clock, NULL);
	assert_int_equal(sample_define(w), 0);
	limit(200001);
	for (unsigned int i = 0; i < EVENTS; i++) {
		struct event e = event_no(i);
		trace_write_event(w, &e);
	}
	assert_int_equal(trace_writer_close(w, NULL), -EFBIG);
	limit(RLIM_INFINITY);
	struct view v = view_of(open(path, O_RDONLY | O_CLOEXEC));
	assert_int_equal(v.health.bad_frames, 0);
	assert_int_equal(v.health.skipped_bytes, 0);
	assert_true(v.health.bytes <= 200001);
	assert_true(v.events_cnt > 10000 && v.events_cnt < EVENTS);
	assert_non_null(catalog_stack(v.c, (struct stack_id){ 2 }));
	view_free(&v);
}

/* Definitions that could not be written are written again before the end, used or not. */
static void test_definitions_return(void **state)
{
	(void)state;
	struct trace_writer *w = trace_writer_new(open(path, O_RDWR | O_CLOEXEC), &sample_clock, NULL);
	limit((rlim_t)trace_bytes(w));
	assert_int_equal(sample_define(w), 0);
	assert_int_equal(trace_tick(w, SAMPLE_T0 + 5000000000), -EFBIG);
	limit(RLIM_INFINITY);
	trace_writer_close(w, NULL);
	struct view v = view_of(open(path, O_RDONLY | O_CLOEXEC));
	assert_non_null(catalog_proc(v.c, (struct proc_id){ 2 }));
	assert_non_null(catalog_stack(v.c, (struct stack_id){ 1 }));
	assert_string_equal(catalog_meta(v.c, "kernel"), "6.1.0");
	assert_int_equal(catalog_count(v.c, "hits-alloc"), 61);
	view_free(&v);
}

static void test_reserve_is_given_back(void **state)
{
	(void)state;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(sample_write(trace_writer_new(fd, &sample_clock, NULL)), 0);
	struct view v = view_of(open(path, O_RDONLY | O_CLOEXEC));
	assert_int_equal(v.events_cnt, SAMPLE_EVENTS);
	assert_int_equal(v.health.skipped_bytes, 0);
	view_free(&v);
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	assert_true((uint64_t)st.st_blocks * 512 < TAPE_RESERVE);
}

static void test_closed_pipe_and_read_only(void **state)
{
	(void)state;
	int p[2];
	struct err err = { 0 };
	assert_int_equal(pipe(p), 0);
	struct trace_writer *w = trace_writer_new(p[1], &sample_clock, &err);
	assert_non_null(w);
	close(p[0]);
	for (unsigned int i = 0; i < EVENTS; i++) {
		struct event e = event_no(i);
		trace_write_event(w, &e);
	}
	assert_true(trace_dropped(w) > EVENTS / 2);
	assert_int_equal(trace_writer_close(w, &err), -EPIPE);
	assert_null(trace_writer_new(open(path, O_RDONLY | O_CLOEXEC), &sample_clock, &err));
	assert_int_equal(err.code, EBADF);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_room_returns),          T(test_room_never_returns),        T(test_definitions_return),
		T(test_reserve_is_given_back), T(test_closed_pipe_and_read_only),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
