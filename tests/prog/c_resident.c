// SPDX-License-Identifier: Apache-2.0
/*
 * Touches each kind of memory in a separate function, gives some back, and prints how many pages each function made resident
 * and how many of them still are. FILE is written and mapped. With "many", touches many pages as fast as it can. Then waits
 * until stdin ends.
 */
/* libs: -lpthread */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096ul
#define HUGE_SZ (2ul << 20)
#define MANY 60000ul

static char *map(size_t pages, int flags, int fd)
{
	char *at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (at == MAP_FAILED)
		abort();
	if (fd < 0)
		madvise(at, pages * PAGE, MADV_NOHUGEPAGE);
	return at;
}

static void say(const char *name, size_t touched, size_t left)
{
	printf("%s %zu %zu\n", name, touched, left);
	fflush(stdout);
}

#define TOUCH(at, pages)                        \
	for (size_t i_ = 0; i_ < (pages); i_++) \
	((volatile char *)(at))[i_ * PAGE] = 1

__attribute__((noinline)) void touch_anonymous(char *at)
{
	TOUCH(at, 1000);
}

__attribute__((noinline)) void touch_many(char *at)
{
	TOUCH(at, MANY);
}

__attribute__((noinline)) void touch_dontneed(char *at)
{
	TOUCH(at, 300);
}

__attribute__((noinline)) void touch_unmapped(char *at)
{
	TOUCH(at, 200);
}

__attribute__((noinline)) void touch_moved(char *at)
{
	TOUCH(at, 150);
}

__attribute__((noinline)) void touch_moved_far(char *at)
{
	TOUCH(at, 1500);
}

__attribute__((noinline)) void touch_returned(char *at, size_t pages)
{
	TOUCH(at, pages);
}

__attribute__((noinline)) void touch_shared(char *at)
{
	TOUCH(at, 120);
}

__attribute__((noinline)) void touch_private_file(char *at)
{
	TOUCH(at, 110);
}

__attribute__((noinline)) void touch_huge(char *at)
{
	for (size_t i = 0; i < 4; i++)
		((volatile char *)at)[i * HUGE_SZ] = 1;
}

__attribute__((noinline)) void touch_heap(char *at)
{
	TOUCH(at, 90);
}

__attribute__((noinline)) void touch_above(char *at)
{
	TOUCH(at, 40);
}

__attribute__((noinline)) void *touch_stack(void *arg)
{
	volatile char room[80 * PAGE];
	TOUCH(room, 80);
	(void)arg;
	return NULL;
}

__attribute__((noinline)) void touch_by_kernel(char *at)
{
	int fd = open("/dev/zero", O_RDONLY);
	if (read(fd, at, 70 * PAGE) != (ssize_t)(70 * PAGE))
		abort();
	close(fd);
}

__attribute__((noinline)) void touch_copied(char *at)
{
	TOUCH(at, 60);
}

/* The child's copies are not the parent's pages. */
static void fork_and_write(char *at)
{
	pid_t child = fork();
	if (!child) {
		touch_copied(at);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	touch_copied(at);
}

static void give_back(void)
{
	char *a = map(300, MAP_PRIVATE | MAP_ANONYMOUS, -1), *b = map(200, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	touch_dontneed(a);
	madvise(a, 100 * PAGE, MADV_DONTNEED);
	say("touch_dontneed", 300, 200);
	touch_unmapped(b);
	munmap(b + 50 * PAGE, 50 * PAGE);
	say("touch_unmapped", 200, 150);
}

/* As much at once as makes a processor's count overflow, from each count that it may have had. */
static void give_back_often(void)
{
	size_t sum = 0;
	for (size_t pages = 30; pages < 700; sum += pages, pages += 7) {
		char *at = map(pages, MAP_PRIVATE | MAP_ANONYMOUS, -1);
		touch_returned(at, pages);
		madvise(at, pages * PAGE, MADV_DONTNEED);
	}
	say("touch_returned", sum, 0);
}

static void move(void)
{
	char *at = map(150, MAP_PRIVATE | MAP_ANONYMOUS, -1), *wall = map(1, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	(void)wall;
	touch_moved(at);
	at = mremap(at, 150 * PAGE, 4000 * PAGE, MREMAP_MAYMOVE);
	munmap(at, 40 * PAGE);
	say("touch_moved", 150, 110);
	/* Huge pages would fit: these are put where they could be. */
	at = map(1500, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	wall = map(1, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	touch_moved_far(at);
	at = mremap(at, 1500 * PAGE, 4096 * PAGE, MREMAP_MAYMOVE);
	at = mremap(at, 4096 * PAGE, 8192 * PAGE, MREMAP_MAYMOVE);
	munmap(at, 1000 * PAGE);
	say("touch_moved_far", 1500, 500);
}

static void grow_heap(void)
{
	char *at = sbrk(0), *page = (char *)(((uintptr_t)at + PAGE - 1) & -PAGE);
	brk(page + 100 * PAGE);
	madvise(page, 100 * PAGE, MADV_NOHUGEPAGE);
	touch_heap(page);
	/* No part of the heap, however near. */
	char *above = mmap(page + (1ul << 30), 40 * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (above == MAP_FAILED)
		abort();
	madvise(above, 40 * PAGE, MADV_NOHUGEPAGE);
	touch_above(above);
	brk(page + 30 * PAGE);
	say("touch_heap", 90, 30);
	say("touch_above", 40, 40);
}

static void share(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	char *zero = calloc(110, PAGE);
	if (fd < 0 || write(fd, zero, 110 * PAGE) != (ssize_t)(110 * PAGE))
		abort();
	free(zero);
	touch_shared(map(120, MAP_SHARED | MAP_ANONYMOUS, -1));
	say("touch_shared", 120, 120);
	touch_private_file(map(110, MAP_PRIVATE, fd));
	say("touch_private_file", 110, 110);
	unlink(path);
}

static void huge(void)
{
	char *at = mmap(NULL, 6 * HUGE_SZ, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	at = (char *)(((uintptr_t)at + HUGE_SZ - 1) & -HUGE_SZ);
	if (madvise(at, 4 * HUGE_SZ, MADV_HUGEPAGE))
		return;
	touch_huge(at);
	madvise(at + 3 * HUGE_SZ, HUGE_SZ, MADV_DONTNEED);
	say("touch_huge", 4 * 512, 3 * 512);
}

static void *threads(void *room)
{
	pthread_attr_t attr;
	pthread_t t;
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, room, 200 * PAGE);
	pthread_create(&t, &attr, touch_stack, NULL);
	pthread_join(t, NULL);
	return NULL;
}

static void touch_all(const char *path)
{
	touch_anonymous(map(1000, MAP_PRIVATE | MAP_ANONYMOUS, -1));
	say("touch_anonymous", 1000, 1000);
	give_back();
	give_back_often();
	move();
	grow_heap();
	share(path);
	huge();
	threads(map(200, MAP_PRIVATE | MAP_ANONYMOUS, -1));
	say("touch_stack", 80, 80);
	touch_by_kernel(map(70, MAP_PRIVATE | MAP_ANONYMOUS, -1));
	say("touch_by_kernel", 70, 70);
	char *at = map(60, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	memset(at, 1, 60 * PAGE);
	fork_and_write(at);
	say("touch_copied", 0, 0);
}

int main(int argc, char **argv)
{
	char c;
	puts("ready");
	fflush(stdout);
	if (read(0, &c, 1) != 1)
		return 1;
	if (argc > 2) {
		touch_many(map(MANY, MAP_PRIVATE | MAP_ANONYMOUS, -1));
		say("touch_many", MANY, MANY);
	} else {
		touch_all(argv[1]);
	}
	say("done", 0, 0);
	while (read(0, &c, 1) > 0)
		;
	return 0;
}
