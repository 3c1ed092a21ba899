/* libs: -ldl */
/*
 * Mappings come and go: a library is loaded and closed, another one takes its addresses, a child is forked and
 * executes another program, and generated code (in no file) calls malloc. Each is called once at once, before a tracer
 * can know its mapping, and again after a pause. With "jit", only generated code calls malloc, often, for a second.
 */
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "truth.h"

#define ROUNDS 20
#define JIT_CALLS 30000
/* Long enough, on a busy machine, for the tracer to read the maps after an unknown address; and for its periodic reading. */
#define SOON_US 500000
#define LATER_US 1500000

typedef void *maker(size_t);

static void *load(const char *name)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);

	if (n <= 0)
		exit(7);
	path[n] = '\0';
	strcpy(strrchr(path, '/') + 1, name);
	return dlopen(path, RTLD_NOW);
}

/* The test identifies the events in the trace by their sizes. */
__attribute__((noipa)) static void call(maker *make, size_t fresh, useconds_t pause)
{
	make(fresh);
	usleep(pause);
	for (int i = 0; i < ROUNDS; i++) {
		make(fresh + 1);
		NO_TAIL_CALL();
	}
}

static void *of_library(const char *name, const char *symbol, size_t fresh, useconds_t pause)
{
	void *lib = load(name);
	maker *make = lib ? (maker *)dlsym(lib, symbol) : NULL;

	if (!make)
		exit(7);
	call(make, fresh, pause);
	dlclose(lib);
	return (void *)make;
}

/* push rbp; mov rbp, rsp; mov rax, malloc; call rax; pop rbp; ret */
static maker *of_no_file(void)
{
	unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x5d, 0xc3 };
	void *(*volatile target)(size_t) = malloc;
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(code + 6, (const void *)&target, 8);
	memcpy(at, code, sizeof(code));
	mprotect(at, 4096, PROT_READ | PROT_EXEC);
	return (maker *)at;
}

static int jit_for_a_second(void)
{
	maker *make = of_no_file();
	struct timespec end, now;
	unsigned long calls = 0;

	truth_ready();
	clock_gettime(CLOCK_MONOTONIC, &end);
	do {
		for (int i = 0; i < 100; i++, calls++)
			free(make(1700));
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (calls < JIT_CALLS || now.tv_sec < end.tv_sec + 1 ||
		 (now.tv_sec == end.tv_sec + 1 && now.tv_nsec < end.tv_nsec));
	printf("%lu\n", calls);
	fflush(stdout);
	return truth_done();
}

int main(int argc, char **argv)
{
	uintptr_t deep, wide;
	pid_t child;

	if (argc > 1 && !strcmp(argv[1], "jit"))
		return jit_for_a_second();
	if (argc > 1) { /* executed by the child */
		of_library("lib_deep.so", "site_deep", 1600, SOON_US);
		return 0;
	}
	truth_ready();
	deep = (uintptr_t)of_library("lib_deep.so", "site_deep", 1100, SOON_US);
	wide = (uintptr_t)of_library("lib_wide.so", "site_wide", 1200, LATER_US);
	printf("%s\n", deep >> 12 == wide >> 12 ? "same place" : "other place");
	fflush(stdout);
	call(of_no_file(), 1300, SOON_US);
	child = fork();
	if (child == 0) {
		of_library("lib_wide.so", "site_wide", 1400, LATER_US);
		execl("/proc/self/exe", "c_maps", "child", NULL);
		_exit(7);
	}
	waitpid(child, NULL, 0);
	of_library("lib_deep.so", "site_deep", 1500, LATER_US);
	return truth_done();
}
/* SPDX-License-Identifier: Apache-2.0 */
