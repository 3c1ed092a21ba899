/* SPDX-License-Identifier: Apache-2.0 */
/* target/proc: facts about a process from /proc/PID. */
#ifndef ALYS_TARGET_PROC_H
#define ALYS_TARGET_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct proc_facts {
	char comm[64];
	char exe[4096];
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	bool kernel_thread;
	bool ended; /* but not reaped yet: a zombie */
};

/*
 * The thread whose /proc folder shows the memory of the process: the main thread, unless that has exited before the
 * others. If none is left, the main thread.
 */
uint32_t proc_holder(uint32_t tgid);
/* Length of an executable's path without " (deleted)", which the kernel appends when the file was removed. */
size_t proc_exe_len(const char *exe);
/* -ESRCH if there is no such process. */
int proc_read(uint32_t tgid, struct proc_facts *out, struct err *err);
/* The number in a "Key:\tvalue" line of /proc/PID/status; -1 if missing. */
long proc_status_value(uint32_t tgid, const char *key);
/* Is it in a PID namespace below that of /proc? */
bool proc_is_nested(uint32_t tgid);
/* Page faults so far, those of threads that have ended, too, but not of children. False: not known. */
bool proc_faults(uint32_t tgid, uint64_t *out);
/* Resident bytes (RSS); 0 if unknown. */
uint64_t proc_resident(uint32_t tgid);

struct map_line {
	uint64_t start, end, offset, dev, ino;
	bool readable, writable, exec, shared;
	bool past;        /* as reported by the kernel at the time: may be outdated */
	const char *path; /* borrowed until the next line */
};

/* Calls fn for every line of /proc/PID/maps, or of another thread's if the main thread has exited. */
int proc_each_map(uint32_t tgid, int (*fn)(void *ctx, const struct map_line *l), void *ctx, struct err *err);

#endif
