/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/caps: capabilities that a child has after dropping some. */
#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sandbox/caps.h"

static int status_of_child(int (*does)(void))
{
	int status = 0;
	pid_t pid = fork();
	if (!pid)
		_exit(does());
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int drops_one(void)
{
	int rc = caps_drop(CAP_SYS_ADMIN);
	return rc                                  ? 1
	       : caps_has(CAP_SYS_ADMIN)           ? 2
	       : !caps_has(CAP_KILL)               ? 3
	       : caps_drop(CAP_CHECKPOINT_RESTORE) ? 4
	       : caps_has(CAP_CHECKPOINT_RESTORE)  ? 5
						   : 0;
}

static int drops_all(void)
{
	return caps_drop_all() ? 1 : caps_has(CAP_KILL) || caps_has(CAP_CHECKPOINT_RESTORE) ? 2 : 0;
}

static void test_one_less(void **state)
{
	(void)state;
	if (!caps_has(CAP_KILL) || !caps_has(CAP_SYS_ADMIN))
		skip();
	assert_int_equal(status_of_child(drops_one), 0);
}

static void test_none_left(void **state)
{
	(void)state;
	assert_int_equal(status_of_child(drops_all), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_less),
		cmocka_unit_test(test_none_left),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
