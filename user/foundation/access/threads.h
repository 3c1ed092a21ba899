/* SPDX-License-Identifier: Apache-2.0 */
/* access/threads: the threads of another process, as rights_threads tells of them. */
#ifndef ALYS_ACCESS_THREADS_H
#define ALYS_ACCESS_THREADS_H

#include <stdint.h>

#define RIGHTS_REGISTERS 16

/* A thread of another process. */
struct rights_thread {
	uint32_t tid, registers_cnt; /* registers: of one that stands still */
	uint64_t sp;                 /* 0 = not known: it was running */
	uint64_t bottom;             /* of the first thread: where its stack ends, below the arguments; else 0 */
	uint64_t registers[RIGHTS_REGISTERS];
};

/* The first two give how many threads there are, the third what was found of them from one of these on, the last one microseconds. */
enum rights_threads { THREADS_LOOK, THREADS_FREEZE, THREADS_LIST, THREADS_THAW };

#endif
