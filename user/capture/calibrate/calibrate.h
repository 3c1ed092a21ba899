/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calibrate: are the sites that were found in a library right? A helper of ours (helper.h) maps
 * the same file and calls its allocator; what the probes say of these calls is held against what
 * really came back. In: the sites and the open file. Out: an outcome. Changes no sites.
 *
 * Costs a program start and a second set of programs in the kernel, so it is for files where results
 * are read from elsewhere than a return. What cannot be loaded alone (an executable, a library of
 * another libc) stays unproven, which speaks neither for nor against its sites.
 */
#ifndef ALYS_CALIBRATE_H
#define ALYS_CALIBRATE_H

#include <stdbool.h>
#include <stddef.h>

#include "probe/probe.h"

enum calibration_outcome {
	CALIBRATION_NONE, /* nothing to be proven */
	CALIBRATION_AGREED,
	CALIBRATION_WRONG,
	CALIBRATION_UNPROVEN, /* it could not be tried */
};

struct calibration {
	enum calibration_outcome outcome;
	char text[320]; /* for people, in one clean line; "" with CALIBRATION_NONE */
};

/* Would results be read at exits cheaper than `ret`, or predicted, when attached so? */
bool calibrate_wanted(const struct site_list *l, enum probe_returns returns);
/*
 * Loads what calibrations need once for all of them, for a process that will not have the right to. There may
 * be no two calibrations at a time then.
 */
int calibrate_prepare(struct err *err);
void calibrate(const struct site_list *l, int file_fd, struct calibration *out);

#endif
