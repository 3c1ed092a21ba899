/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access/thread_stacks: finds the stacks of another process' threads, running or stopped. Only THREADS_FREEZE
 * stops the process, and only when the user asked for it.
 *
 * Threads are stopped by ptrace (seize, then interrupt): however this process ends, the kernel resumes them. A timer
 * that kills this process guarantees that nothing stays stopped for more than two seconds, even if this process itself
 * is stopped. Blocked system calls are restarted, except those that return EINTR after any stop, by a debugger or by
 * SIGSTOP (epoll_wait, sigtimedwait, semop, ...: signal(7)).
 */
#ifndef ALYS_ACCESS_THREAD_STACKS_H
#define ALYS_ACCESS_THREAD_STACKS_H

#include <stddef.h>

#include "access/thread_info.h"

#define THREAD_STACKS_STOP_NS 2000000000ull /* the longest stop */

/* See rights_threads. */
int thread_stacks_do(uint32_t tgid, enum rights_threads how, uint32_t from, struct rights_thread *out, size_t cap);
/* Resumes the process. Returns how long it was stopped, in microseconds; 0: it was not. */
int thread_stacks_resume(void);
/* The end of the main thread's stack, below arguments and environment; 0 = unknown. */
uint64_t thread_stacks_main_end(uint32_t tgid);
/* Time left until it must be resumed; -1: nothing is stopped. */
int thread_stacks_left_ms(void);

#endif
