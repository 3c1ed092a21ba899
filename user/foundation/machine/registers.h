/* SPDX-License-Identifier: Apache-2.0 */
/* machine/registers: the registers of a stopped thread that this process traces (ptrace). */
#ifndef ALYS_MACHINE_REGISTERS_H
#define ALYS_MACHINE_REGISTERS_H

#include <stdint.h>

#define REGISTERS_DATA_MAX 31 /* aarch64: x0..x30 */
#define REGISTERS_ARGS 6

struct registers {
	uint64_t ip, sp;
	/* At a stop of a system call: its number and arguments, of which the first may be its result by now. */
	int64_t call;
	uint64_t args[REGISTERS_ARGS];
	/* Those that may hold addresses of data. */
	uint64_t data[REGISTERS_DATA_MAX];
	uint32_t data_cnt;
};

/* 0 or -errno. */
int registers_read(uint32_t tid, struct registers *r);

#endif
