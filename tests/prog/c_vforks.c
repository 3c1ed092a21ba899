/* libs: -pthread -ldl */
/*
 * The main thread loads a library and waits in vfork, where it cannot be stopped, until a second thread has loaded a library,
 * too. Prints "ready" and "both" and waits for a line after each. Exit status 0: the second thread was able to go on.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE 20000 /* milliseconds */

static volatile int waits, went_on;

static void hear(const char *word)
{
	char c = 0;
	printf("%s\n", word);
	fflush(stdout);
	while (c != '\n' && read(0, &c, 1) == 1)
		;
}

static void *other(void *arg)
{
	while (!waits)
		usleep(1000);
	dlopen("libresolv.so.2", RTLD_NOW);
	hear("both");
	went_on = 1;
	return arg;
}

int main(void)
{
	pthread_t thread;
	cpu_set_t one;
	int status = 1;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	pthread_create(&thread, NULL, other, NULL);
	hear("ready");
	dlopen("libm.so.6", RTLD_NOW);
	pid_t child = vfork();
	if (!child) {
		waits = 1;
		for (int i = 0; i < PATIENCE && !went_on; i++)
			usleep(1000);
		_exit(!went_on);
	}
	waitpid(child, &status, 0);
	return WEXITSTATUS(status);
}
/* SPDX-License-Identifier: Apache-2.0 */
