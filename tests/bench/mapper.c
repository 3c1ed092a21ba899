/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `mapper SECONDS`: pairs of mmap and munmap, then system calls that map nothing. Prints "ready", waits for a byte, then prints
 * the nanoseconds of each. Ends at EOF on stdin.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BATCH 1000

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void pair(void)
{
	void *p = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		exit(1);
	munmap(p, 16384);
}

static void other(void)
{
	syscall(SYS_getppid);
}

static double each(void (*call)(void), double seconds)
{
	uint64_t began = now_ns(), n = 0, took;
	do {
		for (int i = 0; i < BATCH; i++)
			call();
		n += BATCH;
		took = now_ns() - began;
	} while ((double)took < seconds * 1e9);
	return (double)took / (double)n;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	puts("ready");
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	printf("%.1f %.1f\n", each(pair, seconds), each(other, seconds));
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
