/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forks children one after the other, as servers do for connections: each uses a little CPU time, allocates meanwhile and
 * ends. Arguments: children, and rounds of each. Prints the CPU time of all, as the kernel adds it up.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define TURNS 20000

static double used(int who)
{
	struct rusage r;

	getrusage(who, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) + 1e-6 * (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

static void serve(long rounds)
{
	for (long i = 0; i < rounds; i++) {
		void *p = malloc(100);

		__asm__ volatile("" : "+r"(p));
		free(p);
		for (volatile int turn = 0; turn < TURNS; turn++)
			;
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	long children = argc > 1 ? atol(argv[1]) : 50, rounds = argc > 2 ? atol(argv[2]) : 400;

	for (long i = 0; i < children; i++) {
		pid_t pid = fork();

		if (pid == 0)
			serve(rounds);
		if (waitpid(pid, NULL, 0) != pid)
			return 7;
	}
	printf("{\"cpu_s\": %.6f, \"own_cpu_s\": %.6f}\n", used(RUSAGE_SELF) + used(RUSAGE_CHILDREN), used(RUSAGE_SELF));
	return 0;
}
