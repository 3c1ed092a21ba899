/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window/schedule: when windows open, and what each of them stands for. Probes are attached for a few milliseconds,
 * then detached for a random gap. Pure: no clock, no probe. See docs/internals/windows.md.
 *
 *    stretch 
 *    gap   
 * window
 *       gap      
 * window
 *   gap ...
 *            ^ closed  ^ opened               its samples stand for all from `closed` on
 */
#ifndef ALYS_WINDOW_SCHEDULE_H
#define ALYS_WINDOW_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#define WINDOW_GROUPS 16 /* of windows; the variance between groups gives the error */

struct schedule {
	uint64_t random;    /* generator state; any initial value */
	uint64_t closed_ns; /* everything before is accounted for */
	double mean_s;      /* of the current gap */
	bool first;         /* it follows a stretch in which probes were attached all the time */
	uint32_t number;    /* windows so far */
};

/* Everything was seen up to now. */
void schedule_stretch(struct schedule *s, uint64_t now_ns);
/* How long to wait: the sum of two exponential gaps, `mean_s` on average. */
double schedule_gap(struct schedule *s, double mean_s);

/* A past window, and the time that it stands for. */
struct window {
	uint32_t number, group; /* group 1 to WINDOW_GROUPS */
	uint64_t opened_ns, closed_ns;
	uint64_t stands_ns; /* the window and the gap before it */
	double weight;      /* stands_ns divided by its length */
};

struct window schedule_window(struct schedule *s, uint64_t opened_ns, uint64_t closed_ns);

#endif
