/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process under test: its mappings, published to the walk and told to libdw alike. Reads
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

/* Reads the maps; false when the process is gone (what was known stays known). */
bool target_read(struct target *t);
void target_close(struct target *t);
/* Starts a command that waits for target_go before it becomes the command. */
pid_t target_spawn(char **argv, int *gate);
void target_go(int gate);
/* Offset in the file of a function; exits with words when there is none. */
uint64_t function_offset(const char *path, const char *symbol);

#endif
