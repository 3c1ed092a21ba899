/* SPDX-License-Identifier: Apache-2.0 */
/* unkilled: see unkilled.h. */
#include "unkilled/unkilled.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_SZ 16384

struct job {
	int (*work)(void *ctx);
	void *ctx;
	int result;
};

/* Out of reach of kill -9 to our group or by our name. */
static int begin(void *ctx)
{
	struct job *job = ctx;
	setsid();
	prctl(PR_SET_NAME, "probing");
	job->result = job->work(job->ctx);
	return 0;
}

/*
 * As vfork does: the thread stands still, so that the child may use its thread-local storage (errno) and lie on its stack.
 * Both remain there if the thread is killed, as memory goes with the last process that has it. No signal at the child's
 * end: it is nobody else's to wait for.
 */
int unkilled_do(int (*work)(void *ctx), void *ctx)
{
	struct job job = { work, ctx, -EINTR };
	_Alignas(16) char stack[STACK_SZ];
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid_t pid = clone(begin, stack + sizeof(stack), CLONE_VM | CLONE_FILES | CLONE_VFORK, &job);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return work(ctx);
	while (waitpid(pid, NULL, __WCLONE) < 0 && errno == EINTR)
		;
	return job.result;
}

static int do_close(void *fd)
{
	return close((int)(intptr_t)fd);
}

void unkilled_close(int fd)
{
	unkilled_do(do_close, (void *)(intptr_t)fd);
}
