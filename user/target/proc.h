/* target/proc: the little that /proc/PID says about a process. */
#ifndef ALYS_TARGET_PROC_H
#define ALYS_TARGET_PROC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct proc_facts {
	char comm[64];
	char exe[4096];
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	bool kernel_thread;
};

/* -ESRCH when there is no such process. */
int proc_read(uint32_t tgid, struct proc_facts *out, struct err *err);
/* One numeric "Key:\tvalue" line of /proc/PID/status; -1 when missing. */
long proc_status_value(uint32_t tgid, const char *key);

struct map_line {
	uint64_t start, end, offset, dev, ino;
	bool readable, writable, exec;
	const char *path; /* borrowed until the next line */
};

/* Calls fn for every line of /proc/PID/maps. */
int proc_each_map(uint32_t tgid, int (*fn)(void *ctx, const struct map_line *l), void *ctx, struct err *err);

#endif
