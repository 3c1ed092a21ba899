/* libs: -lgc */
/*
 * libgc in rounds: prints "ready"; for each byte on stdin makes CALLS calls and prints "round"; for 'f' a forked child makes
 * them. Ends at EOF.
 */
#include <gc.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLS 5000 /* more than the trial of a prediction takes */

static __attribute__((noipa)) void site_trial(void)
{
	for (int i = 0; i < CALLS; i++) {
		void *volatile p = i % 8 ? GC_malloc(48) : GC_malloc_atomic(100);
		(void)p;
	}
}

static void round_in_child(void)
{
	pid_t child = fork();
	if (!child) {
		site_trial();
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

int main(void)
{
	char byte;
	GC_INIT();
	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) == 1) {
		if (byte == 'f')
			round_in_child();
		else
			site_trial();
		puts("round");
		fflush(stdout);
	}
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
