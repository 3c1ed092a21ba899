/*
 * Threads whose stacks are not resident when malloc(4242) is called: the stack is in a shared file
 * mapping, and all its pages but the one in use are dropped, to be faulted in when they are touched.
 * Arguments: threads, rounds, 1 to drop the pages.
 */
/* libs: -lpthread */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define STACK_SZ (512 << 10)
#define DEPTH 40

static int rounds, drop;

static __attribute__((noinline)) void leaf(char *top)
{
	char here;
	char *page = (char *)(((uintptr_t)&here & ~4095ul) + 4096);
	if (drop && page < top)
		madvise(page, (size_t)(top - page), MADV_DONTNEED);
	void *volatile p = malloc(4242);
	free(p);
}

static __attribute__((noinline)) int deep(int depth, char *top)
{
	volatile char frame[1500];
	frame[0] = (char)depth;
	if (depth)
		frame[1] = (char)deep(depth - 1, top);
	else
		leaf(top);
	return frame[0];
}

static void *work(void *top)
{
	for (int i = 0; i < rounds; i++)
		deep(DEPTH, top);
	return NULL;
}

static char *stack_in_file(void)
{
	char name[] = "stack-XXXXXX";
	int fd = mkstemp(name);
	unlink(name);
	if (fd < 0 || ftruncate(fd, STACK_SZ))
		abort();
	return mmap(NULL, STACK_SZ, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

int main(int argc, char **argv)
{
	pthread_t threads[32];
	int n = atoi(argv[1]);
	rounds = atoi(argv[2]);
	drop = atoi(argv[3]);
	void *volatile first = malloc(4242); /* makes the test read the mappings */
	free(first);
	usleep(300000);
	for (int i = 0; i < n; i++) {
		pthread_attr_t attr;
		char *stack = stack_in_file();
		pthread_attr_init(&attr);
		pthread_attr_setstack(&attr, stack, STACK_SZ);
		pthread_create(&threads[i], &attr, work, stack + STACK_SZ);
	}
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
