/* SPDX-License-Identifier: Apache-2.0 */
/*
 * monitor/limits: what an endless recording does when it exceeds its limits: sample less, then thin out live samples,
 * then refuse new stacks. In: current usage. Out: the next step. Pure computation.
 */
#ifndef ALYS_MONITOR_LIMITS_H
#define ALYS_MONITOR_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#define LIMITS_PERCENT 80 /* percentage of the memory limit at which the first step is taken */

/* Why the interval is not the requested one, or stacks are refused. */
enum limits_cause {
	CAUSE_NONE,
	CAUSE_MEMORY,
	CAUSE_OVERHEAD,
	CAUSE_CALLS,  /* it is calls, not samples, that cost too much */
	CAUSE_READER, /* falls behind; never of struct limits */
};

struct limits {
	uint64_t memory_max;      /* bytes */
	uint64_t memory_least;    /* memory in use before anything is recorded: no step lowers it */
	double overhead_max;      /* percent of all CPUs; 0 = no limit */
	uint64_t interval_wanted; /* requested sampling interval */

	/* Current state; initially interval = interval_wanted. */
	uint64_t interval;
	bool refusing;       /* refuses new stacks */
	uint64_t stepped_ns; /* when the last step was taken, 0 = never */
	enum limits_cause cause;
	uint64_t thinned, coarsened; /* steps taken */
	uint64_t memory;             /* memory at the last step because of it, 0 = none since it was enough */
	unsigned int useless;        /* number of consecutive steps without effect */
};

struct limits_use {
	uint64_t now_ns;
	uint64_t memory;
	double overhead; /* percent of all CPUs, over the last seconds */
	double samples;  /* the part of it that depends on the sampling rate */
};

enum limits_step {
	LIMITS_FINE,
	LIMITS_COARSEN, /* interval was doubled */
	LIMITS_REFINE,  /* interval was halved, not below the requested one */
	LIMITS_THIN,    /* thin out live blocks; the interval was doubled */
	LIMITS_REFUSE,  /* refuse new stacks */
	LIMITS_ACCEPT,  /* accept new stacks */
};

enum limits_step limits_next(struct limits *l, const struct limits_use *u);
/* Memory that may be used temporarily before blocks are thinned out. */
uint64_t limits_room(const struct limits *l, uint64_t memory);
/* Memory for one more file's data; a reserve is kept for files without which nothing would be recorded. */
bool limits_has_room(const struct limits *l, uint64_t memory, bool needed);
/* Accept nothing more, not even processes. */
bool limits_is_full(const struct limits *l, uint64_t memory);
void limits_set_interval(struct limits *l, uint64_t interval);
/* For people; NULL for CAUSE_NONE. */
const char *limits_cause_text(enum limits_cause c);

#endif
