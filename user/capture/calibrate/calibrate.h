/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calibrate: checks the sites found in a library. A helper process (helper.h) maps the same file and calls its
 * allocator; what the probes report is compared with what the calls returned. In: the sites and the open file. Out: a
 * result. Does not change the sites.
 *
 * It costs a program start and a second set of programs in the kernel, so it is done only for files whose results are
 * read elsewhere than at a return. What cannot be loaded alone (an executable, a library of another libc) stays
 * unproven, which says nothing for or against its sites.
 */
#ifndef ALYS_CALIBRATE_H
#define ALYS_CALIBRATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "probe/probe.h"

enum calibration_outcome {
	CALIBRATION_NONE, /* nothing to prove */
	CALIBRATION_AGREED,
	CALIBRATION_WRONG,
	CALIBRATION_UNPROVEN, /* could not be calibrated */
};

struct calibration {
	enum calibration_outcome outcome;
	uint64_t agreed;   /* calls, before the one that did not */
	struct err failed; /* what was wrong, or why there was no calibration; code 0 = nothing */
};

/* For people, one clean line; nothing for CALIBRATION_NONE. */
void calibration_text(const struct calibration *c, struct buf *out);
/* With these return probes, are results predicted or read at exits cheaper than `ret`? */
bool calibrate_wanted(const struct site_list *l, enum probe_returns returns);
/*
 * Loads what all calibrations share, for a process that is about to lose the right to. Only one calibration may then
 * run at a time.
 */
int calibrate_prepare(struct err *err);
void calibrate(const struct site_list *l, int file_fd, struct calibration *out);

#endif
