/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/allowed: system calls that the filter refuses to a child, whatever its rights. */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "own_requests.h"
#include "sandbox/allowed.h"

#define CANNOT 255
#define REFUSED(name, ...) (syscall(SYS_##name, __VA_ARGS__) < 0 && errno == EPERM)

/*
 * The first call that was not refused, 0 = none. Missing rights give EPERM, too, so the arguments are such that others would
 * give another error.
 */
static int refuses_both(void)
{
	return !REFUSED(ptrace, PTRACE_TRACEME, 0, 0, 0)              ? 1
	       : !REFUSED(process_vm_writev, getpid(), 0, 0, 0, 0, 0) ? 2
	       : !REFUSED(mount, 0, 0, 0, 0, 0)                       ? 3
	       : !REFUSED(unshare, 0)                                 ? 4
	       : !REFUSED(clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0) ? 5
	       : !REFUSED(setns, -1, 0)                               ? 6
	       : !REFUSED(keyctl, 0, -3, 0)                           ? 7
	       : !REFUSED(add_key, 0, 0, 0, 0, 0)                     ? 8
	       : !REFUSED(io_uring_setup, 1, 0)                       ? 9
	       : !REFUSED(init_module, 0, 0, 0)                       ? 10
	       : !REFUSED(finit_module, -1, 0, 0)                     ? 11
	       : !REFUSED(userfaultfd, -1)                            ? 12
	       : !REFUSED(chroot, 0)                                  ? 13
	       : !REFUSED(pivot_root, 0, 0)                           ? 14
	       : !REFUSED(kexec_load, 0, 0, 0, 0)                     ? 15
	       : !REFUSED(open_by_handle_at, -1, 0, 0)                ? 16
	       : !REFUSED(pidfd_getfd, -1, 0, 0)                      ? 17
	       : !REFUSED(personality, -1)                            ? 18
	       : !REFUSED(mknodat, -1, 0, 0, 0)                       ? 19
	       : !REFUSED(setuid, getuid())                           ? 20
	       : !REFUSED(syslog, 10, 0, 0)                           ? 21
	       : !REFUSED(shmget, 0, 1, 0)                            ? 22
	       : !REFUSED(mincore, 1, 0, 0)                           ? 23
								      : 0;
}

static int refuses_collector(void)
{
	return !REFUSED(bpf, BPF_PROG_LOAD, 0, 0)                    ? 101
	       : !REFUSED(bpf, BPF_MAP_CREATE, 0, 0)                 ? 102
	       : !REFUSED(bpf, BPF_LINK_CREATE, 0, 0)                ? 103
	       : !REFUSED(bpf, BPF_MAP_GET_FD_BY_ID, 0, 0)           ? 104
	       : !REFUSED(bpf, BPF_PROG_GET_FD_BY_ID, 0, 0)          ? 105
	       : !REFUSED(perf_event_open, 0, 0, 0, 0, 0)            ? 106
	       : !REFUSED(process_vm_readv, getpid(), 0, 0, 0, 0, 0) ? 107
	       : !REFUSED(setresuid, -1, -1, -1)                     ? 108
	       : !REFUSED(setgroups, -1, 0)                          ? 109
	       : !REFUSED(fchown, -1, 0, 0)                          ? 110
								     :
					    /* What is left is its maps. */
		       REFUSED(bpf, BPF_MAP_LOOKUP_ELEM, 0, 0) ? 111
							       : 0;
}

static int broker(void)
{
	return allowed_to_broker(false) ? CANNOT : refuses_both();
}

/* It may stop and resume a process, but not read or change it with ptrace. */
static int stopping_broker(void)
{
	static const long others[] = { PTRACE_TRACEME,   PTRACE_ATTACH, PTRACE_PEEKDATA, PTRACE_POKEDATA,
				       PTRACE_POKEUSER,  PTRACE_CONT,   PTRACE_SYSCALL,  PTRACE_SETOPTIONS,
				       PTRACE_SETREGSET, PTRACE_KILL,   OWN_REQUESTS };
	static const long own[] = { PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_GETREGSET, PTRACE_GETSIGINFO, PTRACE_DETACH };
	if (allowed_to_broker(true))
		return CANNOT;
	for (int i = 0; i < (int)(sizeof(others) / sizeof(others[0])); i++) {
		if (!REFUSED(ptrace, others[i], 0, 0, 0))
			return 201 + i;
	}
	for (int i = 0; i < (int)(sizeof(own) / sizeof(own[0])); i++) {
		if (REFUSED(ptrace, own[i], 0, 0, 0))
			return 221 + i;
	}
	return refuses_both();
}

static int collector(void)
{
	return allowed_to_collector() ? CANNOT : refuses_both() ?: refuses_collector();
}

/* After a reload one is the child of the other. */
static int collector_of_broker(void)
{
	return allowed_to_broker(false) ? CANNOT : collector();
}

static int behind(int (*tries)(void))
{
	int status = 0;
	pid_t pid = fork();
	if (!pid)
		_exit(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? CANNOT : tries());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_broker(void **state)
{
	(void)state;
	assert_int_equal(behind(broker), 0);
}

static void test_stopping_broker(void **state)
{
	(void)state;
	assert_int_equal(behind(stopping_broker), 0);
}

static void test_collector(void **state)
{
	(void)state;
	assert_int_equal(behind(collector), 0);
	assert_int_equal(behind(collector_of_broker), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_broker), cmocka_unit_test(test_stopping_broker),
					    cmocka_unit_test(test_collector) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
