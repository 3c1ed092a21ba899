/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access/standstill: finds the stacks of another process' threads, running or stopped. Only standstill_begin stops the
 * process, and only when the user asked for it.
 *
 * Threads are stopped by ptrace (seize, then interrupt): however this process ends, the kernel resumes them. A timer
 * that kills this process guarantees that nothing stays stopped for more than two seconds, even if this process itself
 * is stopped. Blocked system calls are restarted, except those that return EINTR after any stop, by a debugger or by
 * SIGSTOP (epoll_wait, sigtimedwait, semop, ...: signal(7)).
 */
#ifndef ALYS_ACCESS_STANDSTILL_H
#define ALYS_ACCESS_STANDSTILL_H

#include <stddef.h>

#include "access/thread_info.h"

#define STANDSTILL_MAX_NS 2000000000ull /* the longest stop */

/* See rights_threads. */
int standstill_do(uint32_t tgid, enum rights_threads how, uint32_t from, struct rights_thread *out, size_t cap);
/* Resumes the process. Returns how long it was stopped, in microseconds; 0: it was not. */
int standstill_end(void);
/* The end of the main thread's stack, below arguments and environment; 0 = unknown. */
uint64_t standstill_bottom(uint32_t tgid);
/* Time left until it must be resumed; -1: nothing is stopped. */
int standstill_left_ms(void);

#endif
