/* SPDX-License-Identifier: Apache-2.0 */
/* access/smaps: memory of a process and its children, each page counted once. */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "access/smaps.h"

#define MIB (1u << 20)
#define TAKEN (64 * MIB)

static _Noreturn void live(int ready)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)!write(ready, "", 1);
	for (;;)
		pause();
}

static int spawned(void *ready)
{
	live(*(int *)ready);
}

/* Takes memory, then starts a child with memory of its own, or one that shares the parent's as between vfork and exec. */
static _Noreturn void be_parent(int ready, bool spawning)
{
	static uint8_t stack[64 << 10];
	uint8_t *taken = mmap(NULL, TAKEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (taken == MAP_FAILED)
		_exit(1);
	memset(taken, 1, TAKEN);
	if (spawning && clone(spawned, stack + sizeof(stack), CLONE_VM | SIGCHLD, &ready) < 0)
		_exit(1);
	if (!spawning && !fork()) {
		memset(taken, 2, TAKEN);
		live(ready);
	}
	live(ready);
}

static uint64_t family(bool spawning)
{
	int ready[2];
	char byte;
	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (!pid)
		be_parent(ready[1], spawning);
	for (int i = 0; i < 2; i++)
		assert_int_equal(read(ready[0], &byte, 1), 1);
	uint64_t bytes = smaps_of_family((uint32_t)pid);
	close(ready[0]);
	close(ready[1]);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return bytes;
}

static void test_two(void **state)
{
	(void)state;
	uint64_t bytes = family(false);
	assert_in_range(bytes, 2 * TAKEN, 2 * TAKEN + 16 * MIB);
}

static void test_a_child_that_is_being_spawned(void **state)
{
	(void)state;
	uint64_t bytes = family(true);
	assert_in_range(bytes, TAKEN, TAKEN + 16 * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_two), cmocka_unit_test(test_a_child_that_is_being_spawned) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
