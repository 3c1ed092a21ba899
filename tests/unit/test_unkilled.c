/* SPDX-License-Identifier: Apache-2.0 */
/* unkilled: the work is done with our memory and descriptors, by one that outlives us and leaves nothing. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "unkilled/unkilled.h"

#define THREADS 16
#define ROUNDS 50

struct seen {
	pid_t pid, session;
	char name[16];
};

static int look(void *ctx)
{
	struct seen *s = ctx;
	*s = (struct seen){ .pid = getpid(), .session = getsid(0) };
	prctl(PR_GET_NAME, s->name);
	return -EUCLEAN;
}

static int nothing(void *ctx)
{
	(void)ctx;
	return 0;
}

/* User-mode emulators refuse a child that shares memory, and have no seccomp; a kernel never refuses. */
static void skip_if_emulated(void)
{
	static _Alignas(16) char stack[16384];
	pid_t pid = clone(nothing, stack + sizeof(stack), CLONE_VM | CLONE_FILES | CLONE_VFORK, NULL);
	if (pid < 0 && errno == EINVAL)
		skip();
	assert_int_equal(waitpid(pid, NULL, __WCLONE), pid);
}

static bool is_childless(void)
{
	return waitpid(-1, NULL, __WALL | WNOHANG) < 0 && errno == ECHILD;
}

static void test_a_session_of_its_own(void **state)
{
	struct seen s;
	char name[16];
	(void)state;
	skip_if_emulated();
	assert_int_equal(unkilled_do(look, &s), -EUCLEAN);
	assert_int_not_equal(s.pid, getpid());
	assert_int_equal(s.session, s.pid);
	prctl(PR_GET_NAME, name);
	assert_string_not_equal(s.name, name);
	assert_true(is_childless());
}

static int open_null(void *ctx)
{
	(void)ctx;
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void test_descriptors(void **state)
{
	char byte;
	(void)state;
	int fd = unkilled_do(open_null, NULL);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, &byte, 1), 0);
	unkilled_close(fd);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void test_signals_are_as_before(void **state)
{
	sigset_t before = { 0 }, after = { 0 };
	struct seen s;
	(void)state;
	pthread_sigmask(SIG_BLOCK, NULL, &before);
	unkilled_do(look, &s);
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	assert_memory_equal(&before, &after, sizeof(before));
}

static int count(void *ctx)
{
	int *n = ctx;
	errno = *n;
	return ++*n;
}

static void *count_often(void *ctx)
{
	int n = 0;
	bool *right = ctx;
	for (int i = 1; i <= ROUNDS; i++)
		*right = unkilled_do(count, &n) == i && n == i && *right;
	return NULL;
}

static void test_many_threads(void **state)
{
	pthread_t threads[THREADS];
	bool right[THREADS];
	(void)state;
	memset(right, true, sizeof(right));
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count_often, &right[i]), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_true(right[i]);
	}
	assert_true(is_childless());
}

/* Says that it has begun, waits, and says that it has ended. */
struct slow {
	int said, wait;
};

static int be_slow(void *ctx)
{
	const struct slow *s = ctx;
	char byte = 0;
	bool ok = write(s->said, "b", 1) == 1 && read(s->wait, &byte, 1) == 1;
	return !(ok && write(s->said, "e", 1) == 1);
}

/* Kills a group in which somebody works; the work ends all the same, and nobody is left who has the pipe. */
static void kill_at_work(int signum)
{
	int said[2], wait[2], status;
	char byte = 0;
	assert_int_equal(pipe(said) | pipe(wait), 0);
	pid_t pid = fork();
	if (!pid) {
		struct slow s = { said[1], wait[0] };
		setpgid(0, 0);
		signal(signum, SIG_DFL);
		close(said[0]);
		close(wait[1]);
		_exit(unkilled_do(be_slow, &s));
	}
	close(said[1]);
	close(wait[0]);
	assert_int_equal(read(said[0], &byte, 1), 1);
	assert_int_equal(kill(-pid, signum), 0);
	if (signum == SIGKILL)
		assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(write(wait[1], "x", 1), 1);
	assert_int_equal(read(said[0], &byte, 1), 1);
	assert_int_equal(byte, 'e');
	assert_int_equal(read(said[0], &byte, 1), 0);
	if (signum != SIGKILL)
		assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signum);
	close(said[0]);
	close(wait[1]);
}

static void test_outlives_a_kill(void **state)
{
	(void)state;
	skip_if_emulated();
	for (int i = 0; i < 20; i++)
		kill_at_work(SIGKILL);
}

static void test_ends_before_an_interrupt(void **state)
{
	(void)state;
	skip_if_emulated();
	kill_at_work(SIGINT);
}

static int refuse_children(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static void test_without_a_child(void **state)
{
	int status;
	(void)state;
	skip_if_emulated();
	pid_t pid = fork();
	if (!pid) {
		struct seen s;
		_exit(refuse_children() ? 2 : unkilled_do(look, &s) == -EUCLEAN && s.pid == getpid() ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_session_of_its_own),  cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_signals_are_as_before), cmocka_unit_test(test_many_threads),
		cmocka_unit_test(test_outlives_a_kill),       cmocka_unit_test(test_ends_before_an_interrupt),
		cmocka_unit_test(test_without_a_child),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
