// SPDX-License-Identifier: Apache-2.0
/*
 * Maps each kind of memory in a separate function, gives some back in every way, and prints how many pages each function
 * mapped and how many of them still are. FILE is written and mapped. With "fork", a child gives back what it inherited, then
 * both wait, which is said twice. Waits until stdin ends.
 */
/* libs: -lpthread */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define PAGE 4096ul
#define GIB_PAGES (1ul << 18)
#define PLAIN (MAP_PRIVATE | MAP_ANONYMOUS)

static char *sure(char *at)
{
	if (at == MAP_FAILED)
		abort();
	return at;
}

static void say(const char *name, size_t mapped, size_t left)
{
	printf("%s %zu %zu\n", name, mapped, left);
	fflush(stdout);
}

/* A function that maps memory, with a name of its own. */
#define MAPPER(name, at, pages, prot, flags, fd)                                              \
	__attribute__((noinline)) static char *name(void *where, int file)                    \
	{                                                                                     \
		(void)where, (void)file;                                                      \
		char *got = sure(mmap(at, (pages) * PAGE, prot, flags, fd, 0));               \
		__asm__ volatile("" : : "r"(got) : "memory"); /* keeps the frame on the stack */ \
		return got;                                                                   \
	}

MAPPER(map_whole, NULL, 1000, PROT_READ | PROT_WRITE, PLAIN, -1)
MAPPER(map_holes, NULL, 300, PROT_READ | PROT_WRITE, PLAIN, -1)
MAPPER(map_below, NULL, 200, PROT_READ | PROT_WRITE, PLAIN, -1)
MAPPER(map_over, where, 40, PROT_READ, PLAIN | MAP_FIXED, -1)
MAPPER(map_moved, NULL, 150, PROT_READ | PROT_WRITE, PLAIN, -1)
MAPPER(map_wall, NULL, 1, PROT_READ | PROT_WRITE, PLAIN, -1)
MAPPER(map_shrunk, NULL, 100, PROT_READ | PROT_WRITE, PLAIN, -1)
MAPPER(map_from, NULL, 20, PROT_READ | PROT_WRITE, PLAIN, -1)
MAPPER(map_onto, NULL, 21, PROT_READ | PROT_WRITE, PLAIN, -1)
MAPPER(map_reserved, NULL, 8 * GIB_PAGES, PROT_NONE, PLAIN | MAP_NORESERVE, -1)
MAPPER(map_shared, NULL, 120, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1)
MAPPER(map_file, NULL, 110, PROT_READ, MAP_PRIVATE, file)

__attribute__((noinline)) static char *grow_moved(char *at)
{
	char *got = sure(mremap(at, 150 * PAGE, 400 * PAGE, MREMAP_MAYMOVE));
	__asm__ volatile("" : : "r"(got) : "memory");
	return got;
}

__attribute__((noinline)) static void grow_heap(char *end)
{
	if (brk(end + 100 * PAGE))
		abort();
	__asm__ volatile("" : : : "memory");
}

static void *rest(void *arg)
{
	(void)arg;
	pause();
	return NULL;
}

__attribute__((noinline)) static void start_thread(void)
{
	pthread_attr_t attr;
	pthread_t t;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 * PAGE);
	pthread_attr_setguardsize(&attr, 0);
	if (pthread_create(&t, &attr, rest, NULL))
		abort();
}

static void give_back(void)
{
	char *holes = map_holes(NULL, -1), *below = map_below(NULL, -1);
	munmap(holes + 50 * PAGE, 50 * PAGE);
	munmap(holes + 250 * PAGE, 50 * PAGE);
	say("map_holes", 300, 200);
	map_over(below + 100 * PAGE, -1);
	say("map_below", 200, 160);
	say("map_over", 40, 40);
	char *reserved = map_reserved(NULL, -1);
	munmap(reserved + GIB_PAGES * PAGE, 5 * GIB_PAGES * PAGE);
	say("map_reserved", 8 * GIB_PAGES, 3 * GIB_PAGES);
}

static void move(void)
{
	map_wall(NULL, -1);
	char *at = map_moved(NULL, -1);
	map_wall(NULL, -1);
	say("map_wall", 2, 2);
	munmap(grow_moved(at), 40 * PAGE);
	say("map_moved", 150, 110);
	say("grow_moved", 250, 250);
	sure(mremap(map_shrunk(NULL, -1), 100 * PAGE, 30 * PAGE, 0));
	say("map_shrunk", 100, 30);
	char *onto = map_onto(NULL, -1);
	sure(mremap(map_from(NULL, -1), 20 * PAGE, 20 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, onto));
	say("map_from", 20, 20);
	say("map_onto", 21, 1);
}

static void use_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, 110 * PAGE))
		abort();
	map_file(NULL, fd);
	say("map_file", 110, 110);
	map_shared(NULL, -1);
	say("map_shared", 120, 120);
	close(fd);
	unlink(path);
}

static void map_all(const char *path)
{
	map_whole(NULL, -1);
	say("map_whole", 1000, 1000);
	give_back();
	move();
	use_file(path);
	start_thread();
	say("start_thread", 256, 256);
	/* As a failed call: nothing changes. */
	munmap((void *)1, PAGE);
	char *end = (char *)(((uintptr_t)sbrk(0) + PAGE - 1) & -PAGE);
	grow_heap(end);
	brk(end + 30 * PAGE);
	say("grow_heap", 100, 30);
}

static void map_and_fork(void)
{
	char *at = map_whole(NULL, -1);
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		munmap(at, 400 * PAGE);
		say("done", 0, 0);
		pause();
	}
	say("map_whole", 1000, 1600); /* of both */
}

int main(int argc, char **argv)
{
	char c;
	puts("ready");
	fflush(stdout);
	if (read(0, &c, 1) != 1)
		return 1;
	if (argc > 2)
		map_and_fork();
	else
		map_all(argv[1]);
	say("done", 0, 0);
	while (read(0, &c, 1) > 0)
		;
	return 0;
}
