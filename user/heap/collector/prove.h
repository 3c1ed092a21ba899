/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collector/prove: verifies a collector's layout. A helper process (heapfill.h) maps the same library, fills a heap and
 * reports what the library says about its objects; this is compared with our reading of the helper's memory. In: the
 * open library, the layout found in the traced process. Out: a result, cached by file while this program runs.
 */
#ifndef ALYS_COLLECTOR_PROVE_H
#define ALYS_COLLECTOR_PROVE_H

#include "boehm/layout.h"
#include "calibrate/calibrate.h"
#include "elf/elf.h"

/* The library, and the layout found in the traced process. */
struct prove_file {
	const struct elf *elf;
	int fd;
	uint64_t dev, ino; /* as /proc/PID/maps has them */
	const struct layout *layout;
	uint64_t bias;
};

void prove_layout(const struct prove_file *f, struct calibration *out);
/* "proven: 40 objects in a helper process read as the library answers", "not proven: why" */
void prove_text(const struct calibration *c, struct buf *out);

#endif
