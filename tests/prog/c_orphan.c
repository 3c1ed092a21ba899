/* Forks after more calls than any ring buffer holds; the child waits for a byte before it allocates. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define BEFORE 100000
#define CALLS 3000

static void *volatile kept;

__attribute__((noinline)) void site_of_parent(void)
{
	kept = malloc(16);
	free(kept);
}

__attribute__((noinline)) void site_of_child(void)
{
	kept = malloc(48);
	usleep(1000);
	free(kept);
}

static int child(void)
{
	char byte;

	if (read(0, &byte, 1) != 1)
		return 1;
	for (int i = 0; i < CALLS; i++)
		site_of_child();
	return 0;
}

int main(void)
{
	char byte;
	int status = 1;

	puts("ready");
	fflush(stdout);
	if (read(0, &byte, 1) != 1)
		return 1;
	for (int i = 0; i < BEFORE; i++)
		site_of_parent();
	pid_t pid = fork();

	if (pid == 0)
		_exit(child());
	printf("%d\n", pid);
	fflush(stdout);
	if (waitpid(pid, &status, 0) != pid || status)
		return 2;
	puts("done");
	fflush(stdout);
	while (read(0, &byte, 1) > 0) {
	}
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
