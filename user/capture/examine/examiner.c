/* SPDX-License-Identifier: Apache-2.0 */
/* examine/examiner: see examiner.h. */
#include "examine/examiner.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "access/handover.h"
#include "dwarf/hire.h"
#include "sandbox/jail.h"

#define YIELD 10 /* as of nice */

const char examiner_name[] = "alys-examiner";

static bool put_all(int fd, const uint8_t *at, size_t n)
{
	while (n) {
		ssize_t put = write(fd, at, n);
		if (put < 0 && errno != EINTR)
			return false;
		at += put > 0 ? put : 0;
		n -= put > 0 ? (size_t)put : 0;
	}
	return true;
}

/* What cannot be given up is not read with. Without an answer, the other side asks the kernel why. */
static int examine(const struct examiner_order *o, int fd, int out)
{
	const struct rlimit cpu = { o->seconds, o->seconds };
	struct buf found = { 0 };
	struct err err;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (o->yields)
		setpriority(PRIO_PROCESS, 0, YIELD);
	if (setrlimit(RLIMIT_CPU, &cpu) || jail_enter(o->memory, &err))
		return 1;
	findings_make(fd, o->path, &o->ask, &found);
	return found.failed || !put_all(out, found.data, found.len);
}

/* A child of our parent's: who waits for it is told how it ended and what it took. */
static pid_t fork_for_parent(void)
{
	return (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, 0);
}

static int serve(const struct examiner_order *o, int sock, int fd)
{
	int ends[2];
	struct examiner_reply reply = { -EMFILE };
	if (pipe2(ends, O_CLOEXEC))
		return handover_send(sock, &reply, sizeof(reply), -1, 0);
	reply.pid = fork_for_parent();
	if (!reply.pid) {
		close(sock);
		close(ends[0]);
		_exit(examine(o, fd, ends[1]));
	}
	close(ends[1]);
	reply.pid = reply.pid < 0 ? -errno : reply.pid;
	int rc = handover_send(sock, &reply, sizeof(reply), ends[0], 0);
	close(ends[0]);
	return rc;
}

int examiner_main(int sock)
{
	struct examiner_order *o = calloc(1, sizeof(*o));
	struct err err;
	int rc = jail_leave_rights(&err), fd;
	while (o && !rc && handover_receive(sock, o, sizeof(*o), &fd) == (ssize_t)sizeof(*o) && fd >= 0) {
		o->path[sizeof(o->path) - 1] = 0;
		rc = serve(o, sock, fd);
		close(fd);
	}
	return rc != 0;
}

/* Before main, as dwarf/worker: whatever program this is, nothing of its own has happened. */
__attribute__((constructor)) static void become_examiner(int argc, char **argv)
{
	if (argc == 1 && !strcmp(argv[0], examiner_name))
		_exit(examiner_main(HIRE_SOCKET));
}
