/*
 * A probed function in signal handlers, for raised signals and for timers that interrupt any code, also on an alternate
 * stack. Any but the linker's own assembly, which binds functions that are called for the first time: there a walk may end.
 */
/* libs: -Wl,-z,now */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

static volatile unsigned long work;

/* Probed instead of malloc, which may not be called from a handler that interrupts arbitrary code. */
__attribute__((noinline)) void hit(size_t size)
{
	work += size;
}

static void handler(int sig)
{
	hit((size_t)sig);
	work++; /* prevents a tail call of hit */
}

static __attribute__((noinline)) unsigned long busy(unsigned long n)
{
	for (unsigned long i = 0; i < 3000; i++)
		n = n * 2862933555777941757ul + 3037000493ul;
	return n & 1 ? n : busy(n | 1);
}

static void install(int sig, void (*fn)(int), int flags)
{
	struct sigaction sa = { .sa_handler = fn, .sa_flags = flags };
	sigaction(sig, &sa, NULL);
}

int main(int argc, char **argv)
{
	static char other[65536];
	stack_t ss = { .ss_sp = other, .ss_size = sizeof(other) };
	struct itimerval every = { { 0, 1000 }, { 0, 1000 } };
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 2);
	sigaltstack(&ss, NULL);
	install(SIGVTALRM, handler, SA_RESTART);
	install(SIGUSR1, handler, 0);
	install(SIGUSR2, handler, SA_ONSTACK);
	setitimer(ITIMER_VIRTUAL, &every, NULL);
	while (time(NULL) < end) {
		work += busy(work);
		raise(SIGUSR1);
		raise(SIGUSR2);
	}
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
