/* SPDX-License-Identifier: Apache-2.0 */
/*
 * monitor/limits: what a recording that goes on and on does when it uses more than it may: take fewer
 * samples, then let samples stand for others, then take no new stacks. In: what is used. Out: the next
 * step. Pure: it does none of it.
 */
#ifndef ALYS_MONITOR_LIMITS_H
#define ALYS_MONITOR_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#define LIMITS_PERCENT 80 /* of the memory: here the first step is taken */

struct limits {
	uint64_t memory_max;      /* bytes */
	uint64_t memory_least;    /* taken before anything is seen: no step makes it less */
	double overhead_max;      /* percent of all processors; 0 = no limit */
	uint64_t interval_wanted; /* bytes between samples as asked for */

	/* The state of things; begin with interval = interval_wanted. */
	uint64_t interval;
	bool refusing;               /* takes no new stacks */
	uint64_t stepped_ns;         /* when the last step was taken, 0 = never */
	const char *reason;          /* why the interval is not the wanted one, or stacks are refused; NULL */
	uint64_t thinned, coarsened; /* steps taken */
	uint64_t memory;             /* at the last of them that lowers it */
	unsigned int useless;        /* how many of them in a row lowered nothing */
};

struct limits_use {
	uint64_t now_ns;
	uint64_t memory;
	double overhead; /* percent of all processors, over the last seconds */
	double samples;  /* the part of it that fewer samples lower */
};

enum limits_step {
	LIMITS_FINE,
	LIMITS_COARSEN, /* interval was doubled */
	LIMITS_REFINE,  /* interval was halved, not below the wanted one */
	LIMITS_THIN,    /* live blocks are to be thinned; the interval was doubled */
	LIMITS_REFUSE,  /* no new stacks from now on */
	LIMITS_ACCEPT,  /* new stacks again */
};

enum limits_step limits_next(struct limits *l, const struct limits_use *u);
/* What may be taken for a while before blocks are thinned. */
uint64_t limits_room(const struct limits *l, uint64_t memory);
/* For what is known of one more file; the last of it is for those without which nothing would be seen. */
bool limits_has_room(const struct limits *l, uint64_t memory, bool needed);
/* Nothing more is to be taken in, no process either. */
bool limits_is_full(const struct limits *l, uint64_t memory);
void limits_set_interval(struct limits *l, uint64_t interval);

#endif
