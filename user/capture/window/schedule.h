/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window/schedule: when windows open, and what each of them stands for. Probes are in for a few milliseconds, then
 * out for a gap that is drawn. Pure: no clock, no probe. See docs/internals/windows.md.
 *
 *    stretch |   gap   |window|      gap      |window|  gap ...
 *            ^ closed  ^ opened               its samples stand for all from `closed` on
 */
#ifndef ALYS_WINDOW_SCHEDULE_H
#define ALYS_WINDOW_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#define WINDOW_GROUPS 16 /* of windows, whose differences tell the error */

struct schedule {
	uint64_t random;    /* state; any number begins it */
	uint64_t closed_ns; /* what came before is told already */
	double mean_s;      /* of the gap that is on */
	bool first;         /* it follows a stretch in which probes were in all the time */
	uint32_t number;    /* windows so far */
};

/* Everything was seen until now. */
void schedule_stretch(struct schedule *s, uint64_t now_ns);
/* How long to wait from now on: the sum of two exponential gaps, `mean_s` on average. */
double schedule_gap(struct schedule *s, double mean_s);

/* A window that was, and the part of the time that it stands for. */
struct window {
	uint32_t number, group; /* group 1 to WINDOW_GROUPS */
	uint64_t opened_ns, closed_ns;
	uint64_t stands_ns; /* itself and the gap before it */
	double weight;      /* stands_ns by its length */
};

struct window schedule_window(struct schedule *s, uint64_t opened_ns, uint64_t closed_ns);

#endif
