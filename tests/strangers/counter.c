/*
 * Counts a program's calls of the C library's allocator, independently of any tracer: LD_PRELOAD it, with COUNTER_DIR set.
 * Counts are in COUNTER_DIR/PID.N, a shared mapping: valid to the last instruction, however the program ends. Nested calls
 * are not counted. With COUNTER_PIPES="read,write" the first process prints "ready" before main, waits for a byte and starts
 * counting; with COUNTER_PAUSE="N" it prints "paused TID" right after its N-th allocation and waits again. Does not allocate
 * itself. programs.py reads this layout.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct counts {
	uint64_t allocs, bytes, reallocs, realloc_bytes, frees, failed;
};

#define EACH_NEXT(X)                                                                                       \
	X(void *, malloc, (size_t))                                                                        \
	X(void *, calloc, (size_t, size_t))                                                                \
	X(void *, realloc, (void *, size_t))                                                               \
	X(void *, reallocarray, (void *, size_t, size_t))                                                  \
	X(void *, memalign, (size_t, size_t))                                                              \
	X(void *, aligned_alloc, (size_t, size_t))                                                         \
	X(int, posix_memalign, (void **, size_t, size_t))                                                  \
	X(void *, valloc, (size_t))                                                                        \
	X(void *, pvalloc, (size_t))                                                                       \
	X(void, free, (void *))
#define DECLARE(type, name, args) static type(*next_##name) args;
EACH_NEXT(DECLARE)

static struct counts before; /* until the file is mapped */
static struct counts *counts = &before;
static uint64_t pause_at;
static int from_tester = -1, to_tester = -1;
static __thread int depth __attribute__((tls_model("initial-exec")));

static void find_next(void)
{
	/* Finds the next definition of the name: a call of this library's would recurse endlessly. */
#define FIND(type, name, args) next_##name = (type(*) args)dlsym(RTLD_NEXT, #name);
	depth++;
	EACH_NEXT(FIND)
	depth--;
}

static void enter(void)
{
	if (!next_free) {
		/* dlsym allocates only on failure. */
		if (depth)
			abort();
		find_next();
	}
	depth++;
}

static void add(uint64_t *to, uint64_t n)
{
	__atomic_add_fetch(to, n, __ATOMIC_RELAXED);
}

static void say_and_wait(const char *what)
{
	char line[64], go;
	int n = snprintf(line, sizeof(line), "%s %d\n", what, (int)syscall(SYS_gettid));

	if (write(to_tester, line, n) != n || read(from_tester, &go, 1) != 1)
		_exit(99);
}

/* Pauses with the stack of the allocation. */
static void *allocated(void *p, size_t size)
{
	int error = errno;

	if (--depth)
		return p;
	if (!p) {
		add(&counts->failed, 1);
		return p;
	}
	add(&counts->bytes, size);
	if (__atomic_add_fetch(&counts->allocs, 1, __ATOMIC_RELAXED) == pause_at)
		say_and_wait("paused");
	errno = error;
	return p;
}

/* realloc(NULL, n) allocates; realloc(p, 0) frees if it returns NULL. */
static void *reallocated(void *old, void *p, size_t size)
{
	if (!old)
		return allocated(p, size);
	if (--depth)
		return p;
	if (p) {
		add(&counts->realloc_bytes, size);
		add(&counts->reallocs, 1);
	} else {
		add(size ? &counts->failed : &counts->frees, 1);
	}
	return p;
}

void *malloc(size_t size)
{
	enter();
	return allocated(next_malloc(size), size);
}

void *calloc(size_t n, size_t size)
{
	enter();
	return allocated(next_calloc(n, size), n * size);
}

void *realloc(void *old, size_t size)
{
	enter();
	return reallocated(old, next_realloc(old, size), size);
}

void *reallocarray(void *old, size_t n, size_t size)
{
	enter();
	return reallocated(old, next_reallocarray(old, n, size), n * size);
}

void *memalign(size_t align, size_t size)
{
	enter();
	return allocated(next_memalign(align, size), size);
}

void *aligned_alloc(size_t align, size_t size)
{
	enter();
	return allocated(next_aligned_alloc(align, size), size);
}

int posix_memalign(void **p, size_t align, size_t size)
{
	enter();
	int status = next_posix_memalign(p, align, size);
	allocated(status ? NULL : *p, size);
	return status;
}

void *valloc(size_t size)
{
	enter();
	return allocated(next_valloc(size), size);
}

void *pvalloc(size_t size)
{
	enter();
	return allocated(next_pvalloc(size), size);
}

void free(void *p)
{
	enter();
	if (p && depth == 1)
		add(&counts->frees, 1);
	next_free(p);
	depth--;
}

/* Shells define their own getenv and unsetenv, which do not work before main. */
static char **place_of(const char *name)
{
	char **at = environ;

	while (*at && strncmp(*at, name, strlen(name)))
		at++;
	return at;
}

/* A new file for each process and each exec. */
static void open_counts(void)
{
	const char *folder = *place_of("COUNTER_DIR=");
	char path[4096];
	int fd = -1;

	if (!folder)
		return;
	for (int n = 0; fd < 0 && n < 100; n++) {
		snprintf(path, sizeof(path), "%s/%d.%d", folder + strlen("COUNTER_DIR="), (int)getpid(), n);
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	}
	if (fd < 0 || ftruncate(fd, sizeof(*counts)))
		_exit(98);
	void *at = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		_exit(97);
	close(fd);
	memcpy(at, counts, sizeof(*counts));
	counts = at;
}

static void in_child(void)
{
	static struct counts none;

	counts = &none;
	pause_at = 0;
	open_counts();
}

/* Removes the variable, so that children do not wait. */
static const char *taken(const char *name)
{
	char **at = place_of(name);
	const char *value = *at ? *at + strlen(name) : NULL;

	for (; *at; at++)
		at[0] = at[1];
	return value;
}

static void wait_for_tester(const char *pipes)
{
	const char *at = taken("COUNTER_PAUSE=");

	if (sscanf(pipes, "%d,%d", &from_tester, &to_tester) != 2)
		_exit(96);
	say_and_wait("ready");
	memset(counts, 0, sizeof(*counts));
	if (at)
		pause_at = strtoull(at, NULL, 10);
}

__attribute__((constructor)) static void begin(void)
{
	const char *pipes = taken("COUNTER_PIPES=");

	open_counts();
	pthread_atfork(NULL, NULL, in_child);
	if (pipes)
		wait_for_tester(pipes);
}
/* SPDX-License-Identifier: Apache-2.0 */
