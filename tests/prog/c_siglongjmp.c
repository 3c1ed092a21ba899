/*
 * realloc of an invalid pointer aborts, and the handler of SIGABRT jumps out: that call never returns. Later calls are
 * deeper.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>

#include "truth.h"

#define CALLS 5000

static sigjmp_buf out;
static char arena[256] __attribute__((aligned(16)));
static void *volatile wild = arena + 8;

static void leave(int signum)
{
	(void)signum;
	siglongjmp(out, 1);
}

SITE void *site_after_jump(size_t n) { return ALLOC((malloc)(n), n); }

__attribute__((noinline)) static void deeper(int depth)
{
	volatile char room[512];

	room[0] = (char)depth;
	if (depth) {
		deeper(depth - 1);
	} else {
		for (int i = 0; i < CALLS; i++)
			site_after_jump(40);
	}
	room[1] = room[0];
}

int main(void)
{
	signal(SIGABRT, leave);
	truth_ready();
	if (!sigsetjmp(out, 1)) {
		wild = (realloc)(wild, 100);
		return 7; /* glibc accepted an invalid pointer */
	}
	deeper(8);
	return truth_done();
}
/* SPDX-License-Identifier: Apache-2.0 */
