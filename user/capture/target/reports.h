/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target/reports: mappings of code reported by the kernel, with their times, until they have been matched with
 * /proc/PID/maps: that shows a process as it is when read, which may be later than the events being resolved, and after
 * the file was unmapped again.
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
	bool replaces;        /* something else was known, or reported, at this address before */
	struct map_line line; /* the list owns its path */
};

struct reports {
	struct report *list; /* by time */
	size_t list_cnt, list_cap;
};

/* The oldest are dropped if there are too many, as if the reports had been lost; /proc is read instead. */
int reports_put(struct reports *r, const struct report *report);
/* The first time at which a mapping replaces another; UINT64_MAX = none. */
uint64_t reports_due(const struct reports *r);
/* The oldest one of the process up to that time; or NULL. */
const struct report *reports_first(const struct reports *r, uint32_t tgid, uint64_t until_ns);
/* The oldest one that replaces something; or NULL. */
const struct report *reports_first_replacing(const struct reports *r);
/* Number of later overlapping ones of the process. */
size_t reports_overlapping(const struct reports *r, uint32_t tgid, uint64_t after_ns, uint64_t start, uint64_t end);
void reports_drop(struct reports *r, const struct report *one);
/* All of the process up to that time. */
void reports_forget(struct reports *r, uint32_t tgid, uint64_t until_ns);
void reports_free(struct reports *r);

#endif
