/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/priority: nice value and slice of a child, as root; the policy stays. */
/* Not <sched.h>: in glibc before 2.41 both define struct sched_param. */
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sandbox/priority.h"

static struct sched_attr now(void)
{
	struct sched_attr a = { 0 };
	if (syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0))
		_exit(2);
	return a;
}

/* The slice of a thread is shown by kernels that let it be chosen. */
static int has_slice(uint64_t ns)
{
	uint64_t shown = now().sched_runtime;
	return !shown || (ns ? shown == ns : shown > 100000);
}

static int raises(void)
{
	setpriority(PRIO_PROCESS, 0, 3);
	priority_raise(-15);
	return now().sched_nice == -15 && has_slice(100000);
}

static int raises_no_less(void)
{
	setpriority(PRIO_PROCESS, 0, -18);
	priority_raise(-15);
	return now().sched_nice == -18 && has_slice(100000);
}

static int lowers_what_was_raised(void)
{
	priority_raise(-15);
	priority_lower(0);
	return now().sched_nice == 0 && has_slice(0);
}

static int lowers_no_less(void)
{
	setpriority(PRIO_PROCESS, 0, 12);
	priority_lower(10);
	return now().sched_nice == 12 && has_slice(0);
}

static int leaves_the_policy(void)
{
	const struct sched_attr round = { .size = sizeof(round), .sched_policy = SCHED_RR, .sched_priority = 1 };
	if (syscall(SYS_sched_setattr, 0, &round, 0))
		return 0;
	priority_raise(-15);
	priority_lower(10);
	return now().sched_policy == SCHED_RR && now().sched_priority == 1;
}

static int leaves_flags(void)
{
	const struct sched_attr plain = { .size = sizeof(plain),
					  .sched_policy = SCHED_BATCH,
					  .sched_flags = SCHED_FLAG_RESET_ON_FORK };
	if (syscall(SYS_sched_setattr, 0, &plain, 0))
		return 0;
	priority_raise(-15);
	return now().sched_policy == SCHED_BATCH && now().sched_flags & SCHED_FLAG_RESET_ON_FORK && now().sched_nice == -15;
}

/* However the tests were started. */
static bool begin_plain(void)
{
	const struct sched_attr plain = { .size = sizeof(plain), .sched_policy = SCHED_NORMAL };
	return !syscall(SYS_sched_setattr, 0, &plain, 0);
}

static void assert_in_child(int (*check)(void))
{
	int status;
	if (geteuid())
		skip();
	pid_t child = fork();
	if (!child)
		_exit(begin_plain() && check() ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void test_raise(void **state)
{
	(void)state;
	assert_in_child(raises);
	assert_in_child(raises_no_less);
}

static void test_lower(void **state)
{
	(void)state;
	assert_in_child(lowers_what_was_raised);
	assert_in_child(lowers_no_less);
}

static void test_the_rest_stays(void **state)
{
	(void)state;
	assert_in_child(leaves_the_policy);
	assert_in_child(leaves_flags);
}

/* Without the right to raise its priority a program has the one that it has. */
static int cannot_raise(void)
{
	if (setuid(65534))
		return 0;
	priority_raise(-15);
	return now().sched_nice == 0;
}

static void test_without_the_right(void **state)
{
	(void)state;
	assert_in_child(cannot_raise);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_raise),
		cmocka_unit_test(test_lower),
		cmocka_unit_test(test_the_rest_stays),
		cmocka_unit_test(test_without_the_right),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
