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
#include "sandbox/spawn.h"
#include "sandbox/jail.h"
#include "sandbox/priority.h"

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

/*
 * The file is whoever made it: its examination has no more of the processor than any program, whatever the recorder has. If rights
 * cannot be dropped, it is not read. Without an answer, the other side learns the reason from wait.
 */
static int examine(const struct examiner_order *o, int fd, int out)
{
	const struct rlimit cpu = { o->seconds, o->seconds };
	struct buf found = { 0 };
	struct err err;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	priority_lower(o->yields ? YIELD : 0);
	if (setrlimit(RLIMIT_CPU, &cpu) || jail_enter(o->memory, &err))
		return 1;
	findings_make(fd, o->path, &o->ask, &found);
	return found.failed || !put_all(out, found.data, found.len);
}

/* Makes a child of our parent, which can wait for it and learn its status and CPU time. */
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
		o->patterns[sizeof(o->patterns) - 1] = 0;
		o->ask.functions.patterns = o->patterns;
		o->own.text[sizeof(o->own.text) - 1] = 0;
		own_use(&o->own);
		rc = serve(o, sock, fd);
		close(fd);
	}
	return rc != 0;
}

/* Runs before main, as dwarf/worker does, before the program has done anything of its own. */
__attribute__((constructor)) static void become_examiner(int argc, char **argv)
{
	if (argc == 1 && !strcmp(argv[0], examiner_name))
		_exit(examiner_main(WORKER_SOCKET));
}
