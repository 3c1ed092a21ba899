/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window/budget: how much of the time probes may be in, so that they take no more of their programs' CPU time than
 * was asked for. In: what was counted since the last look. Out: how long to leave probes out. Pure.
 */
#ifndef ALYS_WINDOW_BUDGET_H
#define ALYS_WINDOW_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* What a stop at a probe and a sample take here, in seconds. */
struct price {
	double trap_s, sample_s;
};

struct budget {
	double max; /* share of the programs' CPU time */
	struct price price;
	/* Of late: CPU seconds in a second, and what a second with probes in takes of a CPU second. */
	double cpu_rate, load;
	double debt_s;            /* spent beyond what was allowed; below 0: to be spent yet */
	double spent_s, cpu_s;    /* in all */
	double turn_s, turn_in_s; /* what a turn cost of late, and how long probes were in for it */
	bool known;               /* something was counted */
};

/* One look to the next. */
struct spending {
	uint64_t traps, samples;
	double cpu_s;        /* of the programs */
	double wall_s, in_s; /* in all, and with probes in, be it but for a part of them */
	bool turn;           /* one window, from its gap on */
};

void budget_note(struct budget *b, const struct spending *s);
/* The mean of the next gap in seconds; 0: probes may stay in. */
double budget_gap(const struct budget *b);
/* Of the programs' CPU time, since the begin. */
double budget_spent(const struct budget *b);

#endif
