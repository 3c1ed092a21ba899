/* SPDX-License-Identifier: Apache-2.0 */
/* libs: -lpthread */
/*
 * Kinds of memory, each touched when told to by a letter; each step prints how many bytes it made resident: c_kinds FILE, where FILE
 * is on a tmpfs. Prints "ready" first.
 *
 *   's': shared anonymous memory | 'f': FILE, shared | 'p': FILE, private copies | 'h': a huge page | 'a': pages of a large mapping
 *   'd': gives half of those back | 'm': a block of malloc in a mapping of its own | 't': stacks of threads, that wait
 *   'c': a child with copies of some of 'a', whose number is printed instead | 'l': allocates until malloc fails
 */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define PAGE 4096ul
#define MIB (1ul << 20)
#define THREADS 4
#define DEEP (300 * 1024)

static char *area;
static pthread_barrier_t deep;

static char *map(size_t bytes, int flags, int fd)
{
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (at == MAP_FAILED)
		abort();
	return at;
}

static size_t touch(char *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += PAGE)
		((volatile char *)at)[i] = 1;
	return bytes;
}

static size_t shared(void)
{
	return touch(map(10 * MIB, MAP_SHARED | MAP_ANONYMOUS, -1), 10 * MIB);
}

static size_t file(const char *path, int flags, size_t bytes)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)(6 * MIB)))
		abort();
	char *at = map(6 * MIB, flags, fd);
	close(fd);
	return touch(at, bytes);
}

static size_t huge(void)
{
	char *at = map(4 * MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	at = (char *)(((uintptr_t)at + 2 * MIB - 1) & ~(2 * MIB - 1));
	madvise(at, 2 * MIB, MADV_HUGEPAGE);
	return touch(at, 2 * MIB);
}

static size_t anonymous(void)
{
	area = map(64 * MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	madvise(area, 64 * MIB, MADV_NOHUGEPAGE);
	return touch(area, 8 * MIB);
}

static size_t give_back(void)
{
	madvise(area, 4 * MIB, MADV_DONTNEED);
	return 4 * MIB;
}

static size_t block(void)
{
	size_t bytes = 3 * MIB + 123;
	char *p = malloc(bytes);
	uintptr_t first = (uintptr_t)p / PAGE, last = ((uintptr_t)p + bytes - 1) / PAGE;
	memset(p, 1, bytes);
	return (last - first + 1) * PAGE;
}

static void *go_deep(void *unused)
{
	char frame[DEEP];
	(void)unused;
	memset(frame, 1, sizeof(frame));
	__asm__ volatile("" : : "r"(frame) : "memory");
	pthread_barrier_wait(&deep);
	pause();
	return NULL;
}

static size_t stacks(void)
{
	pthread_t t;
	pthread_barrier_init(&deep, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t, NULL, go_deep, NULL);
	pthread_barrier_wait(&deep);
	return (size_t)THREADS * DEEP;
}

/* All of `area` is shared with it by copy on write until it writes to a quarter. */
static size_t child(void)
{
	int ready[2];
	char byte;
	if (pipe(ready))
		abort();
	pid_t pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		touch(area + 4 * MIB, MIB);
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(0);
	}
	if (read(ready[0], &byte, 1) != 1)
		abort();
	return (size_t)pid;
}

static size_t exhaust(void)
{
	struct rlimit most = { 96 * MIB, 96 * MIB };
	size_t got = 0;
	void *p;
	if (setrlimit(RLIMIT_AS, &most))
		abort();
	for (size_t n = 1000; n; n = n > 64 ? n / 2 : 0) {
		for (; (p = malloc(n)); got += malloc_usable_size(p))
			*(char *)p = 1;
	}
	return got;
}

static size_t step(int letter, const char *path)
{
	switch (letter) {
	case 's': return shared();
	case 'f': return file(path, MAP_SHARED, 6 * MIB);
	case 'p': return file(path, MAP_PRIVATE, 2 * MIB);
	case 'h': return huge();
	case 'a': return anonymous();
	case 'd': return give_back();
	case 'm': return block();
	case 't': return stacks();
	case 'c': return child();
	case 'l': return exhaust();
	}
	return 0;
}

int main(int argc, char **argv)
{
	char letter;
	char text[32];
	puts("ready");
	fflush(stdout);
	while (argc > 1 && read(0, &letter, 1) == 1) {
		int n = snprintf(text, sizeof(text), "%zu\n", step(letter, argv[1]));
		if (write(1, text, (size_t)n) != n)
			return 1;
	}
	return 0;
}
