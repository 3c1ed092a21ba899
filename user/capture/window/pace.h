/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window/pace: how fast a program's byte counter has counted recently, by the program's own CPU time. When the program ends, its
 * counter is gone; this tells about what it would have shown. Pure computation.
 */
#ifndef ALYS_WINDOW_PACE_H
#define ALYS_WINDOW_PACE_H

#include <stdbool.h>

/* Zeroed. Bytes, and ns of own CPU time. */
struct pace {
	bool known;           /* the counter was read once */
	bool gone;            /* it could not be read any more */
	double all, own_ns;   /* counter and CPU time when it was read last */
	double late, late_ns; /* what came between readings; each time, what came before counts half */
	double gone_ns;       /* CPU time when it was found gone */
};

void pace_note(struct pace *p, double all, double own_ns);
/* The counter could not be read. What the program uses later, it does not allocate in: old kernels count how they free its memory. */
void pace_note_gone(struct pace *p, double own_ns);
/* Bytes since the last reading, for a program that has used so much in the end. 0 if too little is known. */
double pace_more(const struct pace *p, double own_ns);

#endif
