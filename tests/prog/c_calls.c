/* libs: -pthread */
/*
 * Functions that count their own calls: recursion, threads, tail calls, an inlined copy, a loop back to a function's first
 * instruction, a forked child, and a second program run by exec. Prints a line of JSON for each program.
 *
 *   c_calls [again | turns N]: again: the second program; turns: N calls of grow for each byte on stdin
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 500
#define THREADS 4
#define KEEP(p) __asm__ volatile("" : "+r"(p) : : "memory")

static atomic_long grown, recursed, jumped_out, empty, loops, tiny;
static jmp_buf out;

__attribute__((noipa)) void *grow(size_t n)
{
	void *p = malloc(n);
	grown++;
	KEEP(p);
	return p;
}

__attribute__((noipa)) void recurse(int depth)
{
	void *p = malloc(10);
	recursed++;
	if (depth)
		recurse(depth - 1);
	KEEP(p);
	free(p);
}

__attribute__((noipa)) void leave_by_jump(void)
{
	jumped_out++;
	free(grow(8));
	longjmp(out, 1);
}

__attribute__((noipa)) void allocate_nothing(void)
{
	empty++;
}

__attribute__((always_inline)) static inline void *grow_inlined(size_t n)
{
	void *p = malloc(n);
	tiny++;
	KEEP(p);
	return p;
}

/*
 * The first enters grow by a jump. The second loops back to its own entry: a probe there could not tell a call from an
 * iteration.
 */
void *jump_to_grow(size_t n);
void loop_at_once(long n);
__asm__(".text\n.type jump_to_grow, @function\njump_to_grow:\n\tjmp grow\n.size jump_to_grow, . - jump_to_grow\n"
	".type loop_at_once, @function\nloop_at_once:\n\tdec %rdi\n\tjnz loop_at_once\n\tret\n"
	".size loop_at_once, . - loop_at_once\n");

static void *work(void *arg)
{
	for (int i = 0; i < ROUNDS; i++)
		free(grow(32));
	return arg;
}

static void print(void)
{
	char line[512];
	int n = snprintf(line, sizeof(line),
			 "{\"pid\":%d,\"calls\":{\"grow\":%ld,\"recurse\":%ld,\"leave_by_jump\":%ld,\"allocate_nothing\":%ld,"
			 "\"jump_to_grow\":%ld,\"inlined\":%ld}}\n",
			 getpid(), grown, recursed, jumped_out, empty, loops, tiny);
	if (write(1, line, (size_t)n) != n)
		abort();
}

static void all(void)
{
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		recurse(i % 7);
		if (!setjmp(out))
			leave_by_jump();
		allocate_nothing();
		free(jump_to_grow(16));
		loops++;
		loop_at_once(3);
		free(grow_inlined(24));
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void child(void)
{
	grown = recursed = jumped_out = empty = loops = tiny = 0;
	for (int i = 0; i < 77; i++)
		free(grow(64));
	print();
	_exit(0);
}

static int turns(long n)
{
	char byte;
	while (read(0, &byte, 1) == 1) {
		for (long i = 0; i < n; i++)
			free(grow(32));
		print();
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 2 && write(1, "ready\n", 6) == 6)
		return turns(atol(argv[2]));
	all();
	print();
	if (argc > 1)
		return 0;
	pid_t pid = fork();
	if (!pid)
		child();
	waitpid(pid, NULL, 0);
	execl("/proc/self/exe", argv[0], "again", NULL);
	return 1;
}
/* SPDX-License-Identifier: Apache-2.0 */
