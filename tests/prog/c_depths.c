/* Allocations in deep stacks and in signal handlers, on the thread's stack and on an alternate one. */
#include <signal.h>

#include "truth.h"

static void *volatile last;

SITE void *site_handler(size_t n) { return ALLOC(malloc(n), n); }
SITE void *site_deep(size_t n) { return ALLOC(malloc(n), n); }
SITE void site_free(void *p) { FREE(free, p); }

/* The signals are only raised synchronously: a handler that interrupts arbitrary code may not allocate. */
__attribute__((noipa)) static void handler(int sig) { last = site_handler(sig == SIGUSR1 ? 1101 : 1201); }

__attribute__((noipa)) static void down(int depth, size_t n)
{
	if (depth)
		down(depth - 1, n);
	else
		last = site_deep(n);
	NO_TAIL_CALL();
}

static void install(int sig, int flags)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = flags };

	sigaction(sig, &sa, NULL);
}

int main(void)
{
	static char other[65536];
	stack_t ss = { .ss_sp = other, .ss_size = sizeof(other) };

	sigaltstack(&ss, NULL);
	install(SIGUSR1, 0);
	install(SIGUSR2, SA_ONSTACK);
	truth_ready();
	for (int i = 0; i < 20; i++) {
		raise(SIGUSR1);
		site_free(last);
		raise(SIGUSR2);
		site_free(last);
		down(100, 1301);
		site_free(last);
		down(1000, 1401);
		site_free(last);
	}
	return truth_done();
}
/* SPDX-License-Identifier: Apache-2.0 */
