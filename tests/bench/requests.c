/* libs: -lpthread */
/*
 * Many processes with simulated requests: each a millisecond of work with 20 blocks of mixed sizes; the last 200 blocks
 * stay live. `requests PROCESSES FILE` prints "ready"; FILE gets two words for each process: its CPU time in nanoseconds,
 * and the part of it spent on the work itself. Ends at EOF on stdin.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define BLOCKS 20
#define KEPT 200

static uint64_t cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static volatile uint64_t sink;

static int rounds = 100000;

static void compute(void)
{
	uint64_t x = 88172645463325252u;
	for (int i = 0; i < rounds; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	sink = x;
}

__attribute__((noipa)) static void *site_block(unsigned int seed)
{
	static const size_t sizes[] = { 24, 48, 64, 120, 256, 800, 2000, 6000 };
	size_t n = sizes[seed % 8];
	return memset(malloc(n), 1, n);
}

__attribute__((noreturn)) static void answer(volatile uint64_t *out)
{
	static void *kept[KEPT];
	uint64_t begun = cpu_ns();
	for (unsigned int i = 0;; i++) {
		for (unsigned int b = 0; b < BLOCKS; b++) {
			unsigned int place = (i * BLOCKS + b) % KEPT;
			free(kept[place]);
			kept[place] = site_block(i * 7 + b);
		}
		uint64_t allocated = cpu_ns();
		compute();
		uint64_t computed = cpu_ns();
		out[0] += computed - begun;
		out[1] += computed - allocated;
		begun = computed;
	}
}

int main(int argc, char **argv)
{
	int n = argc == 3 ? atoi(argv[1]) : 0, fd = n > 0 ? open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
	char byte;
	if (fd < 0 || ftruncate(fd, n * 16))
		return 2;
	uint64_t *all = mmap(NULL, (size_t)n * 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	/* Calibrates the number of rounds per millisecond. */
	uint64_t begun = cpu_ns();
	for (int i = 0; i < 100; i++)
		compute();
	rounds = (int)(100.0 * 1e6 * rounds / (double)(cpu_ns() - begun));
	for (int i = 0; i < n; i++) {
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			answer(all + 2 * i);
		}
	}
	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
