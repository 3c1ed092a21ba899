/*
 * session/threads: where the stacks of a process' threads are, with the process running or standing
 * still. Only threads_freeze stops it, and only when a user asked for that.
 *
 * Frozen by ptrace (seized, then interrupted): when this process ends, in whatever way, the kernel lets
 * the threads go on. So a timer that kills this process is the last guard of the promise that nothing
 * stands still for more than two seconds, even when this process itself is stopped. System calls that
 * were waiting go on by themselves, but for those that the kernel ends with EINTR whenever a thread is
 * stopped, by a debugger or by SIGSTOP alike (epoll_wait, sigtimedwait, semop, ...: signal(7)).
 */
#ifndef ALYS_SESSION_THREADS_H
#define ALYS_SESSION_THREADS_H

#include <time.h>

#include "base/err.h"
#include "boehm/roots.h"

#define FREEZE_MAX_NS 2000000000ull /* what may stand still at most */

struct threads {
	struct root_thread *list;
	size_t list_cnt, list_cap;
	/* While frozen: */
	bool frozen;
	uint64_t since_ns;
	timer_t guard;
};

/* Looks at all threads of a running process; sp of those that were on a processor is 0. -ESRCH, -ENOMEM. */
int threads_look(struct threads *t, uint32_t tgid, struct err *err);
/* Stops all of them. On failure none is left stopped. -ESRCH, -EPERM (someone else traces it), -ETIMEDOUT. */
int threads_freeze(struct threads *t, uint32_t tgid, struct err *err);
/* Time by which all must have been thawed again; 0 when not frozen. */
uint64_t threads_deadline(const struct threads *t);
/* Lets them go on; how long they stood still, in ns. Nothing when not frozen. */
uint64_t threads_thaw(struct threads *t);
/* Thaws as well. */
/*
 * Those that the collector scans, into room for all; how many. Its own ones (GC-marker-0, ...) it never does. A frozen
 * process keeps the others: they are to be let go, too.
 */
size_t threads_of_program(const struct threads *t, uint32_t tgid, struct root_thread *out);
void threads_free(struct threads *t);

#endif
