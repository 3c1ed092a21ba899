/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window/budget: computes how long probes may stay attached, so that they take no more of the programs' CPU time than
 * requested. In: measurements since the last call. Out: how long to leave probes detached. Pure computation.
 */
#ifndef ALYS_WINDOW_BUDGET_H
#define ALYS_WINDOW_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Standard error of a price, as a share of it: caches are colder where the programs run, and processors are shared. Prices were off by a
 * factor of exp(0.28 x normal), so at the far end of a 95 % interval by 0.73 = 1.96 x 0.37.
 */
#define PRICE_UNSURE 0.37

struct budget {
	double max; /* share of the programs' CPU time */
	/*
	 * Recent averages: CPU seconds per second that the programs would use without probes, the mean of what they surely use
	 * and of all; and cost of probes per own CPU second while they are attached.
	 */
	double cpu_rate, load;
	double kept_load;          /* the same of probes that stay attached, per CPU second of the programs */
	double debt_s;             /* spent beyond the budget; negative: budget left */
	double spent_s, cpu_s;     /* totals */
	double kept_s;             /* of what was spent, at probes that stay attached: not what gaps can save */
	double late_s, late_cpu_s; /* the same per second, over the last seconds */
	double turn_s, turn_in_s;  /* recent cost of one window, and how long probes were attached for it */
	bool known;                /* measurements exist */
};

/* Measurements from one call to the next. */
struct spending {
	double probes_s;     /* taken by all probes: stops at the price known for them, and samples */
	double kept_s;       /* of it, by stops at probes that stay attached */
	double stalled_s;    /* of each processor that runs them, by attaching and detaching */
	double cpu_s;        /* of the programs */
	double wall_s, in_s; /* total time, and time with any probes attached */
	bool turn;           /* one window, including the gap before it */
};

void budget_note(struct budget *b, const struct spending *s);
/* Mean length of the next gap in seconds; 0: probes may stay attached. */
double budget_gap(const struct budget *b);
/* Share of the programs' CPU time spent so far, and over the last seconds. */
double budget_spent(const struct budget *b);
/* Of it, at probes that stay attached whatever they cost. */
double budget_kept(const struct budget *b);
double budget_spent_late(const struct budget *b);

#endif
