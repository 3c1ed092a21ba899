/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window/ratio: windows stand for time, but a program's own byte counter is more precise. If windows saw less than
 * their share, because the program was slowed down in them or by chance, all their samples are scaled up: a ratio
 * estimate (Cochran, Sampling Techniques, 1977, ch. 6). Pure computation.
 */
#ifndef ALYS_WINDOW_RATIO_H
#define ALYS_WINDOW_RATIO_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes, according to the program's own counter. */
struct ratio {
	double seen;     /* while probes were attached continuously */
	double reported; /* that windows stand for, by time */
	double squares;  /* sum of the squares of what each window stands for */
	double since;    /* counter at the start of the current stretch; everything before belongs to windows */
	bool stretch;
};

/* Start and end of a stretch in which everything is seen. */
void ratio_stretch_begins(struct ratio *r, double all);
void ratio_stretch_ends(struct ratio *r, double all);
/* Bytes that a window stands for which saw `met` bytes. */
double ratio_window(struct ratio *r, double met, double weight);
/* Has any window seen something? */
bool ratio_has_met(const struct ratio *r);
/* Bytes counted outside stretches. */
double ratio_unseen(const struct ratio *r, double all);
/* Bytes that nothing stands for, if windows saw none or hardly any. */
double ratio_missed(const struct ratio *r, double all);
/*
 * Standard error of a site that was seen in stretches and in none of n windows, as a multiple of its estimate. It may have
 * gone on as in stretches for all of what no window stands for, and for a part p of the rest: n windows all miss it with
 * probability (1 - p)^n, 5 % at p = 1 - 0.05^(1/n) (compare unsampled_below in model/model.h). Windows that stand for unequal parts
 * tell less: n is then how many equal ones would have the same sum and sum of squares (Kish, Survey Sampling, 1965). From
 * RATIO_ENOUGH on p counts as 0: the variance between windows is all that is known of it. At most RATIO_UNMET_MAX.
 */
#define RATIO_ENOUGH 16
#define RATIO_UNMET_MAX 1e6
double ratio_unmet(const struct ratio *r, double all);
/* Scale factor for samples of windows, for a counter of `all` bytes; 1 while unknown. */
double ratio_factor(const struct ratio *r, double all);

#endif
