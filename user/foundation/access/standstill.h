/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access/standstill: the threads of one other process: where their stacks are, with the process running or standing
 * still. Only standstill_begin stops it, and only when a user asked for that.
 *
 * Frozen by ptrace (seized, then interrupted): when this process ends, in whatever way, the kernel lets
 * the threads go on. So a timer that kills this process is the last guard of the promise that nothing
 * stands still for more than two seconds, even when this process itself is stopped. System calls that
 * were waiting go on by themselves, but for those that the kernel ends with EINTR whenever a thread is
 * stopped, by a debugger or by SIGSTOP alike (epoll_wait, sigtimedwait, semop, ...: signal(7)).
 */
#ifndef ALYS_ACCESS_STANDSTILL_H
#define ALYS_ACCESS_STANDSTILL_H

#include <stddef.h>

#include "access/threads.h"

#define STANDSTILL_MAX_NS 2000000000ull /* what may stand still at most */

/* As rights_threads. */
int standstill_do(uint32_t tgid, enum rights_threads how, uint32_t from, struct rights_thread *out, size_t cap);
/* Lets it go on; 0 when nothing stands still, else how long it did, in microseconds. */
int standstill_end(void);
/* Where the first thread's stack ends, below arguments and environment; 0 = not to be known. */
uint64_t standstill_bottom(uint32_t tgid);
/* Until it must go on; -1: nothing stands still. */
int standstill_left_ms(void);

#endif
