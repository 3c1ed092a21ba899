/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target/reports: mappings of code that the kernel told of, with their times, until it is known what lies there: /proc/PID/maps shows
 * a process as it is when it is read, which may be behind the events that are looked at, and after it has unmapped the file again.
 */
#ifndef ALYS_TARGET_REPORTS_H
#define ALYS_TARGET_REPORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/proc.h"

struct report {
	uint32_t tgid;
	uint64_t time_ns;     /* CLOCK_MONOTONIC */
	bool replaces;        /* something else was known to lie there, or told of, before */
	struct map_line line; /* its path is the list's */
};

struct reports {
	struct report *list; /* by time */
	size_t list_cnt, list_cap;
};

/* The oldest go when there are too many: what they say is asked of /proc, as if they had been lost. */
int reports_put(struct reports *r, const struct report *report);
/* The first time that something lies where something else did; UINT64_MAX = none. */
uint64_t reports_due(const struct reports *r);
/* The oldest one of the process until then; NULL. */
const struct report *reports_first(const struct reports *r, uint32_t tgid, uint64_t until_ns);
/* The oldest one that replaces something; NULL. */
const struct report *reports_first_replacing(const struct reports *r);
/* How many of the process, later than then, overlap. */
size_t reports_overlapping(const struct reports *r, uint32_t tgid, uint64_t after_ns, uint64_t start, uint64_t end);
void reports_drop(struct reports *r, const struct report *one);
/* All of the process until then. */
void reports_forget(struct reports *r, uint32_t tgid, uint64_t until_ns);
void reports_free(struct reports *r);

#endif
