/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/fence: what a confined child can still change and list. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sandbox/fence.h"

enum { NO_LANDLOCK = 40, CANNOT = 41 };

static int makes(const char *dir)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/file", dir);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600), code = errno;
	if (fd >= 0)
		close(fd);
	return fd >= 0 ? !unlink(path) : code == EACCES ? 0 : -1;
}

static bool lists(const char *dir)
{
	DIR *d = opendir(dir);
	return d && !closedir(d);
}

/* Bits: what could be done. */
static int behind(const char *in, const char *out, bool open_dir)
{
	int fd = open_dir ? open(in, O_RDONLY | O_DIRECTORY) : -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return CANNOT;
	int rc = fence_raise(fd);
	if (rc <= 0)
		return rc ? CANNOT : NO_LANDLOCK;
	int null = open("/dev/null", O_RDWR), readable = open("/proc/self/stat", O_RDONLY);
	return (makes(in) == 1) | (makes(out) == 1) << 1 | (null >= 0) << 2 | (readable >= 0) << 3 | lists(in) << 4 |
	       lists(out) << 5 | lists("/proc/self/task") << 6;
}

static int result(bool open_dir)
{
	char in[] = "/tmp/fence-in-XXXXXX", out[] = "/tmp/fence-out-XXXXXX";
	int status = 0;
	assert_non_null(mkdtemp(in));
	assert_non_null(mkdtemp(out));
	pid_t pid = fork();
	if (!pid)
		_exit(behind(in, out, open_dir));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(makes(out), 1); /* without the fence it can be done */
	rmdir(in);
	rmdir(out);
	return WEXITSTATUS(status);
}

static void test_one_directory(void **state)
{
	(void)state;
	int did = result(true);
	if (did == NO_LANDLOCK)
		skip();
	assert_int_equal(did, 1 | 4 | 8 | 16 | 64);
}

static void test_none(void **state)
{
	(void)state;
	int did = result(false);
	if (did == NO_LANDLOCK)
		skip();
	assert_int_equal(did, 4 | 8 | 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_directory),
		cmocka_unit_test(test_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
