/* libs: -lgc */
/* Children that exit inside GC_malloc: the request cannot be met, and the out-of-memory handler ends the process. */
#include <gc.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 12

static void *volatile kept;

static void *leave(size_t n)
{
	(void)n;
	_exit(0);
}

static pid_t one(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		kept = GC_malloc((size_t)1 << 46);
		_exit(1);
	}
	return pid;
}

int main(void)
{
	char byte;

	GC_INIT();
	GC_set_oom_fn(leave);
	puts("ready");
	fflush(stdout);
	if (read(0, &byte, 1) != 1)
		return 1;
	for (int i = 0; i < CHILDREN; i++) {
		int status = 1;
		pid_t pid = one();

		if (waitpid(pid, &status, 0) != pid || status)
			return 2;
		printf("%d ", pid);
	}
	puts("");
	fflush(stdout);
	while (read(0, &byte, 1) > 0) {
	}
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
