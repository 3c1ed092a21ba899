/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collector/prove: is a collector's layout right? A helper of ours (heapfill.h) maps the same library,
 * fills a heap and says what the library answers about its objects; our reading of the helper's memory
 * is held against that. In: the open library, the layout found in the traced process. Out: an outcome,
 * remembered by file for as long as this program runs.
 */
#ifndef ALYS_COLLECTOR_PROVE_H
#define ALYS_COLLECTOR_PROVE_H

#include "boehm/layout.h"
#include "calibrate/calibrate.h"
#include "elf/elf.h"

/* The library, and what was found of it in the traced process. */
struct prove_file {
	const struct elf *elf;
	int fd;
	uint64_t dev, ino; /* as /proc/PID/maps has them */
	const struct layout *layout;
	uint64_t bias;
};

void prove_layout(const struct prove_file *f, struct calibration *out);

#endif
