/*
 * More call stacks than any limit allows: each block is allocated on another path of 24 calls, and kept.
 * c_paths SECONDS [MS] | prints "ready", waits for a byte, works until another byte comes or SECONDS have passed, with
 * a pause of MS after each 1024 blocks, prints how many, waits for the end of stdin
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define DEPTH 24
#define KEPT 4000000

static void *kept[KEPT];

__attribute__((noipa)) static void *left(unsigned int path, int depth);
__attribute__((noipa)) static void *right(unsigned int path, int depth);

static inline void *go(unsigned int path, int depth)
{
	return path & 1 ? left(path >> 1, depth + 1) : right(path >> 1, depth + 1);
}

static void *left(unsigned int path, int depth)
{
	void *p = depth == DEPTH ? malloc(64 + path % 64) : go(path, depth);
	__asm__ volatile("" ::: "memory");
	return p;
}

static void *right(unsigned int path, int depth)
{
	void *p = depth == DEPTH ? malloc(200 + path % 64) : go(path, depth);
	__asm__ volatile("" ::: "memory");
	return p;
}

int main(int argc, char **argv)
{
	char byte;
	int n = 0;
	puts("ready");
	fflush(stdout);
	if (argc < 2 || read(0, &byte, 1) != 1)
		return 2;
	time_t end = time(NULL) + atoi(argv[1]);
	int rest_ms = argc > 2 ? atoi(argv[2]) : 0;
	struct pollfd in = { 0, POLLIN, 0 };
	while (n < KEPT && (n % 1024 || (time(NULL) < end && poll(&in, 1, rest_ms) == 0))) {
		kept[n] = go((unsigned int)n * 2654435761u, 0);
		n++;
	}
	printf("%d\n", n);
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
