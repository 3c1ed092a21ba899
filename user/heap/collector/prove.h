/*
 * collector/prove: is a collector's layout right? A helper of ours (heapfill.h) maps the same library,
 * fills a heap and says what the library answers about its objects; our reading of the helper's memory
 * is held against that. In: the open library, the layout found in the traced process. Out: a verdict,
 * remembered by file for as long as this program runs.
 */
#ifndef ALYS_COLLECTOR_PROVE_H
#define ALYS_COLLECTOR_PROVE_H

#include "boehm/layout.h"
#include "calibrate/calibrate.h"
#include "elf/elf.h"

/* dev, ino: of the file as /proc/PID/maps has them. bias: of the layout's process. */
void prove_layout(const struct elf *e, int fd, uint64_t dev, uint64_t ino, const struct layout *l, uint64_t bias,
		  struct calibration *out);

#endif
