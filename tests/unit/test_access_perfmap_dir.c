/* SPDX-License-Identifier: Apache-2.0 */
/* access/perfmap_dir: places are given back, and one user cannot take all of them. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "access/perfmap_dir.h"

#define ALL 1024
#define OTHER 65534

static int taken[2 * ALL];
static int taken_cnt;

/* The result instead of a place. */
static int take(pid_t pid, int max)
{
	for (int i = 0, n; i < max; i++) {
		n = perfmap_dir_open((uint32_t)pid);
		if (n <= 0)
			return n;
		taken[taken_cnt++] = n;
	}
	return 0;
}

/* -ENOENT is a place without a file. */
static int held(int from, int to)
{
	int n = 0;
	for (int i = from; i < to; i++) {
		int rc = perfmap_dir_map(taken[i]);
		if (rc >= 0)
			close(rc);
		n += rc != -EBADF;
	}
	return n;
}

static int give_back(void **state)
{
	(void)state;
	while (taken_cnt)
		perfmap_dir_close(taken[--taken_cnt]);
	return 0;
}

/* The process may open a few more files than there are places. */
static int have_room(void **state)
{
	struct rlimit l;
	(void)state;
	getrlimit(RLIMIT_NOFILE, &l);
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
	return l.rlim_max < ALL + 100 ? -1 : 0;
}

/* A process of another user; 0: this machine allows none. */
static pid_t stranger(void)
{
	int ready[2];
	char byte = 0;
	if (pipe(ready))
		return 0;
	pid_t pid = fork();
	if (!pid) {
		/* A process that changes its user belongs to root until it may be inspected. */
		byte = !setresuid(OTHER, OTHER, OTHER) && !prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		(void)!write(ready[1], &byte, 1);
		pause();
	}
	(void)!read(ready[0], &byte, 1);
	close(ready[0]);
	close(ready[1]);
	if (byte)
		return pid;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}

static void test_all_come_back(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(take(getpid(), ALL + 1), -EMFILE);
		assert_int_equal(taken_cnt, ALL);
		assert_int_equal(held(0, ALL), ALL);
		give_back(state);
	}
}

static void test_a_number_is_of_one_place(void **state)
{
	(void)state;
	assert_int_equal(take(getpid(), 1), 0);
	int was = taken[0];
	assert_int_equal(perfmap_dir_share(was), was);
	perfmap_dir_close(was);
	assert_int_equal(held(0, 1), 1);
	perfmap_dir_close(was);
	assert_int_equal(perfmap_dir_map(was), -EBADF);
	assert_int_equal(take(getpid(), 1), 0);
	assert_int_not_equal(taken[1], was);
	assert_int_equal(perfmap_dir_map(was), -EBADF);
	perfmap_dir_close(was);
	assert_int_equal(held(1, 2), 1);
}

static void test_one_user_leaves_some_to_others(void **state)
{
	(void)state;
	pid_t pid = stranger();
	if (!pid)
		skip();
	int all = take(getpid(), ALL), one = take(pid, 1), others_one = held(ALL, ALL + 1), own = held(0, ALL);
	int half = take(pid, ALL), own_half = held(0, ALL), others_half = held(ALL, taken_cnt), more = take(getpid(), 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(all, 0);
	assert_int_equal(one, 0);
	assert_int_equal(others_one, 1);
	assert_int_equal(own, ALL - 1);
	/* Both users get the same number at most, and the first places stay. */
	assert_int_equal(half, -EMFILE);
	assert_int_equal(own_half, ALL / 2);
	assert_int_equal(others_half, ALL / 2);
	assert_int_equal(held(0, ALL / 2), ALL / 2);
	assert_int_equal(more, -EMFILE);
}

static void test_who_gave_back_has_fewer(void **state)
{
	(void)state;
	pid_t pid = stranger();
	if (!pid)
		skip();
	int first = take(pid, 600), rest = take(getpid(), ALL - 600);
	for (int i = 0; i < 500; i++)
		perfmap_dir_close(taken[i]);
	int again = take(getpid(), 500), back = take(pid, 1), kept = held(500, 600);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(first | rest | again | back, 0);
	assert_int_equal(kept, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_all_come_back, give_back),
		cmocka_unit_test_teardown(test_a_number_is_of_one_place, give_back),
		cmocka_unit_test_teardown(test_one_user_leaves_some_to_others, give_back),
		cmocka_unit_test_teardown(test_who_gave_back_has_fewer, give_back),
	};
	return cmocka_run_group_tests(tests, have_room, NULL);
}
