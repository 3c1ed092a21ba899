/* flags: -Wl,-z,lazy */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A signal, whose handler allocates, interrupts each instruction of the PLT that a call executes, also those by which it is
 * bound. A forked child lets the program go on by one instruction at a time until it is there.
 */
#include <elf.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "stopped_at.h"
#include "truth.h"

#define PLACES_MAX 64

/* While it is observed, only these two of the program's functions are executed: the rest of its code then is the PLT. */
#define CALLS __attribute__((section("calls_code"), noinline, used)) static
#define HANDLES __attribute__((section("handles_code"), noinline, used)) static
extern const char __executable_start[], etext[], __start_calls_code[], __stop_calls_code[], __start_handles_code[],
	__stop_handles_code[];

SITE void *site_handler(void)
{
	return ALLOC(malloc(24), 24);
}

SITE void site_release(void *p)
{
	FREE(free, p);
}

HANDLES void handler(int sig)
{
	(void)sig;
	site_release(site_handler());
	raise(SIGTRAP);
	NO_TAIL_CALL();
}

CALLS void calls(void)
{
	raise(SIGTRAP);
	getppid();
	NO_TAIL_CALL();
}

static uintptr_t place_of(pid_t tid)
{
	struct user_regs_struct regs;
	struct iovec io = { &regs, sizeof(regs) };
	return ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &io) ? 0 : STOPPED_AT(&regs);
}

static int is_in(uintptr_t at, const char *from, const char *to)
{
	return at >= (uintptr_t)from && at < (uintptr_t)to;
}

static int is_called(uintptr_t at)
{
	return is_in(at, __executable_start, etext) && !is_in(at, __start_calls_code, __stop_calls_code) &&
	       !is_in(at, __start_handles_code, __stop_handles_code);
}

static int is_new(uintptr_t at)
{
	static uintptr_t seen[PLACES_MAX];
	static unsigned int n;
	for (unsigned int i = 0; i < n; i++) {
		if (seen[i] == at)
			return 0;
	}
	if (n == PLACES_MAX)
		_exit(7);
	seen[n++] = at;
	return 1;
}

/* Lets it go on, with a signal or 0, until it stops again. */
static uintptr_t resume(pid_t tid, int how, int sig)
{
	int status;
	if (ptrace(how, tid, NULL, (void *)(long)sig) || waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
		_exit(6);
	return place_of(tid);
}

/* From its stop until it has called and returned. The handler stops, too, when it has done its work. */
static void interrupt(pid_t tid)
{
	int status, there = 0;
	uintptr_t at = waitpid(tid, &status, __WALL) == tid ? place_of(tid) : 0;
	while (!there || !is_in(at, __start_calls_code, __stop_calls_code)) {
		there |= is_called(at);
		if (is_called(at) && is_new(at))
			resume(tid, PTRACE_CONT, SIGUSR1);
		at = resume(tid, PTRACE_SINGLESTEP, 0);
	}
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
}

static void watch(pid_t tid, int ready)
{
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) || write(ready, "", 1) != 1)
		_exit(5);
	interrupt(tid);
	_exit(0);
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler };
	pid_t self = getpid();
	int ready[2], status;
	char byte;
	sigaction(SIGUSR1, &sa, NULL);
	truth_ready();
	if (pipe(ready))
		return 1;
	pid_t child = fork();
	if (!child)
		watch(self, ready[1]);
	if (child < 0 || read(ready[0], &byte, 1) != 1)
		return 1;
	calls();
	if (waitpid(child, &status, 0) != child || status)
		return 1;
	return truth_done();
}
