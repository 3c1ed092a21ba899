/* flags: -static -nostdlib -fno-builtin -fno-stack-protector -fcf-protection=none */
/*
 * A program with its own allocator and no libc, small enough to run a thousand copies: allocates and frees
 * until it is killed.
 */
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>

static char arena[1 << 16];
static size_t used;

static long call(long number, long a, long b)
{
	long rc;
	__asm__ volatile("syscall"
			 : "=a"(rc)
			 : "a"(number), "D"(a), "S"(b)
			 : "rcx", "r11", "memory");
	return rc;
}

__attribute__((noipa)) void *malloc(size_t n)
{
	size_t at = used;

	used = (used + n) % (sizeof(arena) / 2);
	return arena + at;
}

__attribute__((noipa)) void free(void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

__attribute__((noipa)) void site_own(void)
{
	free(malloc(64));
	__asm__ volatile("" ::: "memory");
}

__attribute__((force_align_arg_pointer)) void _start(void)
{
	const struct timespec pause = { .tv_nsec = 5000000 };

	for (;;) {
		site_own();
		call(SYS_nanosleep, (long)&pause, 0);
	}
}
/* SPDX-License-Identifier: Apache-2.0 */
