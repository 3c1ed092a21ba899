/* SPDX-License-Identifier: Apache-2.0 */
/* heapview: requests of the process that reads one heap, and the rights that it keeps. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "access/rights.h"
#include "base/log.h"
#include "heapview/heap_process.h"
#include "sandbox/caps.h"

#define PATIENCE_S 120
#define WHY_SZ sizeof(((struct err *)NULL)->text)
enum { CANNOT_SPLIT = 100 };

static char data[] = "data of the target";
static const char *on_stack; /* in main's frames */
static pid_t target, other;
static unsigned patience = PATIENCE_S; /* of the broker */

static int64_t memory(pid_t pid, const void *at, size_t n, void *out)
{
	const struct rights_range r = { (uintptr_t)at, n };
	return rights_memory((uint32_t)pid, &r, 1, out);
}

static int result(int fd)
{
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

/* All return the first error, 0 = none. */

static int has_nothing(void)
{
	int fd = open("/tmp", O_RDWR | O_TMPFILE, 0600);
	return !getuid() || !getgid()                                      ? 1
	       : caps_has(CAP_SYS_PTRACE) || caps_has(CAP_DAC_READ_SEARCH) ? 2
	       : prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1               ? 3
	       : prctl(PR_GET_SECCOMP) != -1 && prctl(PR_GET_SECCOMP) != 2 ? 4
	       : fd >= 0 || open("/etc/shadow", O_RDONLY) >= 0             ? 5
	       : prctl(PR_GET_DUMPABLE)                                    ? 6
									   : 0;
}

static int is_given_its_process(void)
{
	char text[8] = "", exe[4096];
	return memory(target, data, 4, text) != 4 || memcmp(text, "data", 4)        ? 1
	       : result(rights_maps((uint32_t)target))                              ? 2
	       : rights_exe((uint32_t)target, exe, sizeof(exe)) <= 0                ? 3
	       : memory(target, on_stack, 5, text) != 5 || memcmp(text, "frame", 5) ? 4
	       : memory(target, environ[0], 4, text) != -EFAULT                     ? 5
										    : 0;
}

static int is_refused_others(void)
{
	char text[8], exe[4096];
	return memory(other, data, 4, text) != -EPERM                                ? 1
	       : rights_maps((uint32_t)other) != -EPERM                              ? 2
	       : rights_exe((uint32_t)other, exe, sizeof(exe)) != -EPERM             ? 3
	       : memory(getppid(), data, 4, text) != -EPERM                          ? 4
	       : rights_file((uint32_t)other, "/proc/self/exe") != -EPERM            ? 5
	       : rights_threads((uint32_t)other, THREADS_LOOK, 0, NULL, 0) != -EPERM ? 6
										     : 0;
}

static int is_refused_probes(void)
{
	const uint64_t zero = 0;
	int exe = open("/proc/self/exe", O_RDONLY);
	const struct rights_link l = {
		.prog_fd = 0, .file_fd = exe, .attach_type = 48, .cnt = 1, .offsets = &zero, .cookies = &zero
	};
	return rights_link(&l) != -EPROTO                              ? 1
	       : rights_tracepoint("sched_process_fork", 0) != -EPROTO ? 2
	       : rights_array("alys_chunk", 8) != -EPROTO              ? 3
	       : rights_mappings(0) != -EPROTO                         ? 4
	       : rights_place(PLACE_OPEN, (int)target) != -EPROTO      ? 5
	       : rights_footprint() != -EPROTO                         ? 6
								       : 0;
}

static char state_of(pid_t pid)
{
	char path[40], line[512] = "";
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	int fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, line, sizeof(line) - 1) <= 0)
		line[0] = 0;
	close(fd);
	const char *close_ = strrchr(line, ')');
	return close_ ? close_[2] : '?';
}

static int is_shown_threads(void)
{
	struct rights_thread t[4] = { 0 };
	return rights_threads((uint32_t)target, THREADS_FREEZE, 0, NULL, 0) != -EPERM || state_of(target) == 't'             ? 1
	       : rights_threads((uint32_t)target, THREADS_LOOK, 0, NULL, 0) != 1                                             ? 2
	       : rights_threads((uint32_t)target, THREADS_LIST, 0, t, 4) != 1                                                ? 3
	       : t[0].tid != (uint32_t)target                                                                                ? 4
	       : t[0].sp >= (uintptr_t)on_stack || t[0].bottom <= (uintptr_t)on_stack || t[0].bottom > (uintptr_t)environ[0] ? 5
	       : rights_threads((uint32_t)target, THREADS_LIST, 1, t, 4) != 0                                                ? 6
	       : rights_threads((uint32_t)target, (enum rights_threads)77, 0, t, 4) != -EPERM                                ? 7
															     : 0;
}

static int may_stop_it(void)
{
	struct rights_thread t = { 0 };
	return rights_threads((uint32_t)target, THREADS_FREEZE, 0, NULL, 0) != 1                   ? 1
	       : state_of(target) != 't'                                                           ? 2
	       : rights_threads((uint32_t)target, THREADS_LIST, 0, &t, 1) != 1 || !t.registers_cnt ? 3
	       : rights_threads(0, THREADS_THAW, 0, NULL, 0) <= 0                                  ? 4
	       : state_of(target) == 't'                                                           ? 5
	       : rights_threads((uint32_t)other, THREADS_FREEZE, 0, NULL, 0) != -EPERM             ? 6
												   : 0;
}

/* A reader that sends nothing, and one that sends requests all the time. */
static int cannot_keep_it_stopped(void)
{
	char text[8];
	if (rights_threads((uint32_t)target, THREADS_FREEZE, 0, NULL, 0) != 1)
		return 1;
	while (state_of(target) == 't')
		usleep(10000);
	if (rights_threads((uint32_t)target, THREADS_FREEZE, 0, NULL, 0) != 1)
		return 2;
	while (state_of(target) == 't') {
		if (memory(target, data, 4, text) != 4)
			return 3;
	}
	return rights_threads(0, THREADS_THAW, 0, NULL, 0) ? 4 : 0;
}

static int dies_with_it_stopped(void)
{
	if (rights_threads((uint32_t)target, THREADS_FREEZE, 0, NULL, 0) != 1)
		return 1;
	signal(SIGSEGV, SIG_DFL); /* the test's own frame catches it */
	raise(SIGSEGV);
	return 2;
}

static int waits_for_ever(void)
{
	while (pause())
		;
	return 1;
}

/* --- both sides ------------------------------------------------------------------------------------ */

static int live(int (*does)(void), bool stops, struct err *err)
{
	struct reader r = { 0 };
	int status = CANNOT_SPLIT;
	alarm(patience);
	log_set_level(LOG_QUIET);
	int rc = reader_split(&r, (uint32_t)target, stops, &status, err);
	if (!rc)
		_exit(does());
	return status;
}

static pid_t begin_target(void)
{
	pid_t pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	while (state_of(pid) != 'S')
		usleep(1000);
	return pid;
}

/* Exit status of the split process; why: its message. */
static int split(int (*does)(void), bool stops, char why[WHY_SZ])
{
	int status = 0, words[2];
	target = begin_target();
	other = begin_target();
	assert_int_equal(pipe(words), 0);
	pid_t pid = fork();
	if (!pid) {
		struct err err = { 0 };
		int done = live(does, stops, &err);
		(void)!write(words[1], err.text, sizeof(err.text));
		_exit(done);
	}
	close(words[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	memset(why, 0, WHY_SZ);
	/* Readable when there is an answer, or when the other end is closed. */
	assert_int_equal(poll(&(struct pollfd){ .fd = words[0], .events = POLLIN }, 1, PATIENCE_S * 1000), 1);
	(void)!read(words[0], why, WHY_SZ - 1);
	close(words[0]);
	/* It was stopped no longer than needed, and works again. */
	while (state_of(target) != 'S')
		usleep(1000);
	for (int i = 0; i < 2; i++) {
		kill(i ? target : other, SIGKILL);
		waitpid(i ? target : other, NULL, 0);
	}
	return status;
}

static void expect_fine(int (*does)(void), bool stops)
{
	char why[WHY_SZ];
	/* Without these rights a process cannot become another user or read others. */
	if (!caps_has(CAP_SETUID) || !caps_has(CAP_SYS_PTRACE))
		skip();
	int status = split(does, stops, why);
	assert_true(WIFEXITED(status));
	assert_string_equal(why, "");
	assert_int_equal(WEXITSTATUS(status), 0);
}

#define TEST(name, does, stops)           \
	static void name(void **state)    \
	{                                 \
		(void)state;              \
		expect_fine(does, stops); \
	}

TEST(test_no_rights, has_nothing, false)
TEST(test_its_process, is_given_its_process, false)
TEST(test_other_processes, is_refused_others, false)
TEST(test_no_probes, is_refused_probes, false)
TEST(test_threads, is_shown_threads, false)
TEST(test_stops, may_stop_it, true)
TEST(test_goes_on, cannot_keep_it_stopped, true)

static void test_crash(void **state)
{
	char why[WHY_SZ];
	(void)state;
	if (!caps_has(CAP_SETUID) || !caps_has(CAP_SYS_PTRACE))
		skip();
	int status = split(dies_with_it_stopped, true, why);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
	assert_non_null(strstr(why, "was killed by signal 11; the process itself is unaffected"));
}

static void test_ends_together(void **state)
{
	char why[WHY_SZ];
	(void)state;
	if (!caps_has(CAP_SETUID) || !caps_has(CAP_SYS_PTRACE))
		skip();
	patience = 1;
	int status = split(waits_for_ever, false, why);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGALRM);
}

int main(void)
{
	char frame[] = "frame of main";
	on_stack = frame;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_rights), cmocka_unit_test(test_its_process), cmocka_unit_test(test_other_processes),
		cmocka_unit_test(test_no_probes), cmocka_unit_test(test_threads),     cmocka_unit_test(test_stops),
		cmocka_unit_test(test_goes_on),   cmocka_unit_test(test_crash),       cmocka_unit_test(test_ends_together),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
