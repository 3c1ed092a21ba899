/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window/ratio: windows stand for time; a program that counts its own bytes knows better. Where windows met too little of
 * it, because it was slowed down in them or by chance, all their samples stand for more: a ratio estimate (Cochran,
 * Sampling Techniques, 1977, ch. 6). Pure.
 */
#ifndef ALYS_WINDOW_RATIO_H
#define ALYS_WINDOW_RATIO_H

#include <stdbool.h>

/* Bytes, by the program's own counter. */
struct ratio {
	double seen;  /* while probes were in all the time */
	double told;  /* that windows stand for, by time */
	double since; /* where the stretch began; all before it is windows' */
	bool stretch;
};

/* From here on all is seen; and from here on no more. */
void ratio_stretch_begins(struct ratio *r, double all);
void ratio_stretch_ends(struct ratio *r, double all);
/* What a window stands for that met so many bytes. */
double ratio_window(struct ratio *r, double met, double weight);
/* What nothing stands for: no window met anything. */
double ratio_missed(const struct ratio *r, double all);
/* Of the samples of windows, when `all` were counted; 1 while nothing is known. */
double ratio_factor(const struct ratio *r, double all);

#endif
