/* SPDX-License-Identifier: Apache-2.0 */
/* recorder/tracker: which processes are added, and when. The recording is a mock; processes are real where /proc is read. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "recorder/tracker.h"
#include "target/select.h"

#define PARENT 0x7ffffff0u /* numbers that no process has */
#define CHILD 0x7ffffff1u

struct fake {
	uint32_t known[8];
	size_t known_cnt;
	size_t adds, forks, drops, ignored;
	bool full, shared;
	int refusal; /* of add */
};

static struct proc_id fake_find(void *ctx, uint32_t tgid)
{
	const struct fake *f = ctx;
	for (size_t i = 0; i < f->known_cnt; i++) {
		if (f->known[i] == tgid)
			return (struct proc_id){ (uint32_t)i + 1 };
	}
	return (struct proc_id){ 0 };
}

static bool fake_has(void *ctx, uint32_t tgid)
{
	return fake_find(ctx, tgid).n;
}

static const char *fake_exe(void *ctx, uint32_t tgid)
{
	return fake_has(ctx, tgid) ? "/some/program" : NULL;
}

static size_t fake_count(void *ctx)
{
	return ((const struct fake *)ctx)->known_cnt;
}

static bool fake_full(void *ctx)
{
	return ((const struct fake *)ctx)->full;
}

static int fake_add(void *ctx, uint32_t tgid, struct err *err)
{
	struct fake *f = ctx;
	f->adds++;
	if (f->refusal)
		return err_set(err, f->refusal, "refused");
	f->known[f->known_cnt++] = tgid;
	return 0;
}

static struct proc_id fake_fork(void *ctx, uint32_t parent, uint32_t child, uint64_t time_ns)
{
	struct fake *f = ctx;
	(void)time_ns;
	assert_true(fake_has(ctx, parent));
	f->forks++;
	f->known[f->known_cnt++] = child;
	return fake_find(ctx, child);
}

static void fake_drop(void *ctx, uint32_t tgid)
{
	struct fake *f = ctx;
	f->drops++;
	f->known[fake_find(ctx, tgid).n - 1] = 0;
}

static void fake_ignore(void *ctx, uint32_t tgid)
{
	(void)tgid;
	((struct fake *)ctx)->ignored++;
}

static void fake_look(void *ctx, struct proc_id proc)
{
	(void)ctx, (void)proc;
}

static void fake_report(void *ctx, const struct report *report)
{
	(void)ctx, (void)report;
}

static bool fake_is_shared(void *ctx)
{
	return ((const struct fake *)ctx)->shared;
}

static void fake_share(void *ctx, bool shared)
{
	((struct fake *)ctx)->shared = shared;
}

static void fake_split(void *ctx)
{
	((struct fake *)ctx)->shared = false;
}

static struct tracker *made(const struct select *select, bool follow, struct fake *f)
{
	static struct record_options options;
	static struct handles handles;
	options = (struct record_options){ .follow = follow };
	handles = (struct handles){ .o = &options, .select = select };
	const struct tracker_ops ops = {
		.ctx = f,
		.find = fake_find,
		.has = fake_has,
		.exe = fake_exe,
		.count = fake_count,
		.is_full = fake_full,
		.add = fake_add,
		.fork = fake_fork,
		.drop = fake_drop,
		.ignore = fake_ignore,
		.look = fake_look,
		.report = fake_report,
		.is_shared = fake_is_shared,
		.share = fake_share,
		.split = fake_split,
	};
	struct tracker *t = tracker_new(&handles, &ops);
	assert_non_null(t);
	return t;
}

/* A process that is neither our child nor our program: those are excluded. */
static uint32_t sleeper(void)
{
	int fds[2];
	uint32_t pid = 0;
	assert_int_equal(pipe(fds), 0);
	pid_t between = fork();
	if (!between) {
		pid_t far = fork();
		if (!far) {
			close(fds[0]);
			fcntl(fds[1], F_SETFD, FD_CLOEXEC); /* closed by the exec */
			execlp("sleep", "sleep", "100", NULL);
			_exit(1);
		}
		_exit(write(fds[1], &far, sizeof(far)) != sizeof(far));
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &pid, sizeof(pid)), sizeof(pid));
	uint8_t end;
	assert_int_equal(read(fds[0], &end, 1), 0);
	close(fds[0]);
	assert_int_equal(waitpid(between, NULL, 0), between);
	return pid;
}

/* Until what is counted there is one more. */
static void work_until(struct tracker *t, const size_t *count, size_t wanted)
{
	while (*count < wanted) {
		int ms = tracker_work(t);
		poll(NULL, 0, ms >= 0 && ms < 10 ? ms : 10);
	}
	assert_int_equal(*count, wanted);
}

static void test_children_of_a_recording_without_select(void **state)
{
	struct fake f = { .known = { PARENT }, .known_cnt = 1 };
	struct tracker *t = made(NULL, true, &f);
	(void)state;
	tracker_on_fork(t, CHILD + 1, CHILD + 2, 1); /* of a process that is not recorded */
	assert_int_equal(f.forks, 0);
	tracker_on_fork(t, PARENT, CHILD, 1);
	assert_int_equal(f.forks, 1);
	assert_int_equal(tracker_counts(t).late, 1); /* it has links of its own */
	f.shared = true;
	tracker_on_fork(t, PARENT, CHILD + 1, 1);
	assert_int_equal(tracker_counts(t).late, 1);
	assert_int_equal(f.adds, 0);
	tracker_free(t);
}

static void test_scan_takes_in_who_is_wanted(void **state)
{
	uint32_t pid = sleeper();
	const struct select s = { .pids = &pid, .pids_cnt = 1 };
	struct fake f = { 0 };
	struct tracker *t = made(&s, false, &f);
	struct err err;
	(void)state;
	assert_int_equal(tracker_scan(t, &err), 0);
	assert_int_equal(f.adds, 1);
	assert_int_equal(f.known[0], pid);
	assert_false(f.shared);
	assert_int_equal(tracker_scan(t, &err), 0); /* known by now */
	assert_int_equal(f.adds, 1);
	assert_int_equal(tracker_counts(t).looked, 1);
	tracker_free(t);
	kill((pid_t)pid, SIGKILL);
}

static void test_pinned_and_banned(void **state)
{
	uint32_t pid = sleeper();
	const struct select nobody = { 0 };
	struct fake f = { 0 };
	struct tracker *t = made(&nobody, false, &f);
	(void)state;
	tracker_include(t, pid);
	tracker_on_exec(t, pid);
	assert_int_equal(f.adds, 0); /* it waits until the process has been quiet */
	work_until(t, &f.adds, 1);
	tracker_exclude(t, pid);
	assert_true(tracker_is_excluded(t, pid));
	f.known[0] = 0;
	assert_int_equal(tracker_add_unknown(t, pid).n, 0);
	assert_int_equal(f.adds, 1);
	tracker_on_exit(t, pid); /* its number is free */
	assert_false(tracker_is_excluded(t, pid));
	tracker_free(t);
	kill((pid_t)pid, SIGKILL);
}

static void test_exec_may_end_it(void **state)
{
	uint32_t pid = sleeper();
	const struct select nobody = { 0 };
	struct fake f = { .known = { pid }, .known_cnt = 1 };
	struct tracker *t = made(&nobody, false, &f);
	(void)state;
	tracker_on_exec(t, pid); /* no longer selected */
	work_until(t, &f.drops, 1);
	assert_int_equal(f.adds, 0);
	assert_int_equal(tracker_add_unknown(t, pid).n, 0); /* its last events may still arrive */
	assert_int_equal(f.adds, 0);
	tracker_free(t);
	kill((pid_t)pid, SIGKILL);
}

static void test_who_ends_at_once_costs_nothing(void **state)
{
	const struct select s = { .all = false };
	struct fake f = { .known = { PARENT }, .known_cnt = 1, .shared = true };
	struct tracker *t = made(&s, true, &f);
	(void)state;
	tracker_on_fork(t, PARENT, CHILD, 1);
	tracker_on_exit(t, CHILD);
	tracker_on_fork(t, PARENT, CHILD + 1, 1);
	work_until(t, &f.forks, 1); /* the other one, when it has been quiet */
	assert_int_equal(f.known[1], CHILD + 1);
	assert_int_equal(tracker_counts(t).looked, 1);
	tracker_free(t);
}

static void test_events_do_not_wait(void **state)
{
	const struct select s = { .all = false };
	struct fake f = { .known = { PARENT }, .known_cnt = 1, .shared = true };
	struct tracker *t = made(&s, true, &f);
	(void)state;
	tracker_on_fork(t, PARENT, CHILD, 1);
	assert_int_equal(tracker_add_unknown(t, CHILD).n, 2);
	assert_int_equal(f.forks, 1);
	/* One that has ended: inspected once, whatever else it sends. */
	f.refusal = ESRCH;
	assert_int_equal(tracker_add_unknown(t, CHILD + 1).n, 0);
	assert_int_equal(tracker_add_unknown(t, CHILD + 1).n, 0);
	assert_int_equal(f.adds, 1);
	assert_int_equal(tracker_counts(t).unseen, 1);
	tracker_free(t);
}

static void test_no_room(void **state)
{
	uint32_t pid = sleeper();
	const struct select s = { .pids = &pid, .pids_cnt = 1 };
	struct fake f = { .full = true };
	struct tracker *t = made(&s, false, &f);
	(void)state;
	assert_int_equal(tracker_add_unknown(t, pid).n, 0);
	assert_int_equal(f.adds, 0);
	assert_int_equal(tracker_counts(t).refused, 1);
	assert_int_equal(tracker_counts(t).unseen, 0);
	f.full = false;
	work_until(t, &f.adds, 1); /* those still running are found */
	tracker_free(t);
	kill((pid_t)pid, SIGKILL);
}

static void test_under_a_translator(void **state)
{
	uint32_t pid = sleeper();
	const struct select s = { .pids = &pid, .pids_cnt = 1 };
	struct fake f = { .refusal = ENOTSUP };
	struct tracker *t = made(&s, false, &f);
	struct err err;
	(void)state;
	assert_int_equal(tracker_scan(t, &err), 0);
	assert_int_equal(tracker_scan(t, &err), 0);
	assert_int_equal(f.adds, 1); /* not tried again */
	f.refusal = 0;
	tracker_on_exec(t, pid); /* another program may be accepted */
	work_until(t, &f.adds, 2);
	tracker_free(t);
	kill((pid_t)pid, SIGKILL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_children_of_a_recording_without_select),
		cmocka_unit_test(test_scan_takes_in_who_is_wanted),
		cmocka_unit_test(test_pinned_and_banned),
		cmocka_unit_test(test_exec_may_end_it),
		cmocka_unit_test(test_who_ends_at_once_costs_nothing),
		cmocka_unit_test(test_events_do_not_wait),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_under_a_translator),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
