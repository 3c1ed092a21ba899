/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process under test: publishes its mappings to the BPF walk and to libdw. Reads
 * /proc/PID/maps again when the walk misses a mapping.
 */
#ifndef ALYS_TESTS_BPF_TARGET_H
#define ALYS_TESTS_BPF_TARGET_H

#include <stdint.h>
#include <sys/types.h>

#include "oracle.h"
#include "kernel/tables.h"

struct target {
	uint32_t tgid;
	struct tables *tables;
	struct oracle *oracle;
	uint64_t reads;
	size_t eh_bytes;
	double compile_ms;
};

/* Reads the maps; false if the process has exited (known mappings are kept). */
bool target_read(struct target *t);
void target_close(struct target *t);
/* Forks a child that executes the command after target_go. */
pid_t target_spawn(char **argv, int *gate);
void target_go(int gate);
/* A function's offset in the file; exits with a message if there is none. */
uint64_t function_offset(const char *path, const char *symbol);

#endif
