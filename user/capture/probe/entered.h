/* SPDX-License-Identifier: Apache-2.0 */
/* probe/entered: counts calls of functions: one probe at the entry of each, no event and no return probe. */
#ifndef ALYS_PROBE_ENTERED_H
#define ALYS_PROBE_ENTERED_H

#include "probe/probe.h"

/* Functions of one file, by the offsets of their probes, and the numbers under which their calls are counted. */
struct probe_entries {
	uint32_t tgid; /* 0 = all in the target list */
	int file_fd;
	const uint64_t *offsets;
	const uint32_t *numbers;
	size_t n;
};

/* Calls of a function by one program of a process. */
struct entered_count {
	struct alys_entered of;
	uint64_t calls;
};

/* Nothing if they are attached for all processes already. */
int probe_attach_entries(struct probe *p, const struct probe_entries *e, struct err *err);
/* All counts, by process, program and function; *n entries, to be freed. 0 or -errno. */
int probe_entered(const struct probe *p, struct entered_count **out, size_t *n);
/* The program has ended. */
void probe_forget_entered(const struct probe *p, const struct alys_entered *of);

#endif
