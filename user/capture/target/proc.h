/* SPDX-License-Identifier: Apache-2.0 */
/* target/proc: the little that /proc/PID says about a process. */
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
	bool ended; /* but its parent was not told yet: a zombie */
};

/*
 * The thread whose folder in /proc shows the memory of the process: its first one, unless that has exited
 * and left the others to go on. With none of them left, the first again.
 */
uint32_t proc_holder(uint32_t tgid);
/* Bytes of an executable's path without " (deleted)", which the kernel adds when the file is gone. */
size_t proc_exe_len(const char *exe);
/* -ESRCH when there is no such process. */
int proc_read(uint32_t tgid, struct proc_facts *out, struct err *err);
/* One numeric "Key:\tvalue" line of /proc/PID/status; -1 when missing. */
long proc_status_value(uint32_t tgid, const char *key);
/* Bytes of it that are in memory (RSS); 0 when that is not to be known. */
uint64_t proc_resident(uint32_t tgid);

struct map_line {
	uint64_t start, end, offset, dev, ino;
	bool readable, writable, exec, shared;
	bool past;        /* as it was when the kernel told of it: something else may lie there by now */
	const char *path; /* borrowed until the next line */
};

/* Calls fn for every line of /proc/PID/maps, or of another thread's where the first has exited. */
int proc_each_map(uint32_t tgid, int (*fn)(void *ctx, const struct map_line *l), void *ctx, struct err *err);

#endif
