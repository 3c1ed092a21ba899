/* SPDX-License-Identifier: Apache-2.0 */
/* access/thread_info: what rights_threads returns about the threads of another process. */
#ifndef ALYS_ACCESS_THREAD_INFO_H
#define ALYS_ACCESS_THREAD_INFO_H

#include <stdint.h>

#define RIGHTS_REGISTERS 31 /* as in registers.h */

/* A thread of another process. */
struct rights_thread {
	uint32_t tid, registers_cnt; /* registers: of a stopped thread only */
	uint64_t sp;                 /* 0 = unknown: it was running */
	uint64_t bottom;             /* main thread: end of its stack, below the arguments; else 0 */
	uint64_t registers[RIGHTS_REGISTERS];
};

/*
 * The first two return the number of threads, the third what was found about them from an index on, the last one
 * microseconds.
 */
enum rights_threads { THREADS_LOOK, THREADS_FREEZE, THREADS_LIST, THREADS_THAW };

#endif
