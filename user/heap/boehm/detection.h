/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boehm/detection: finds the layout. In: the memory of a process and the file its collector came in. Out: a layout that
 * was checked against the memory before it is believed: headers name their own blocks, sizes are those of objects, the
 * sentinel mark behind each block's last object is where it must be.
 */
#ifndef ALYS_BOEHM_DETECTION_H
#define ALYS_BOEHM_DETECTION_H

#include <stdint.h>

#include "base/err.h"
#include "boehm/layout.h"
#include "boehm/memory.h"
#include "boehm/space.h"
#include "elf/elf.h"

/* Where to look. */
struct detection_place {
	const struct space *space;
	const struct elf *elf; /* the file that holds the collector: a library or the program */
	uint64_t bias;         /* address in the process less address in the file */
	const char *file;      /* for messages */
};

/*
 * 0, or -ENODATA: the collector has not started yet, -ENOTSUP: no layout that the memory agrees with, -ESRCH, -EPERM,
 * -ENOMEM. err says it in one sentence without naming the process.
 */
int layout_find(struct memory *m, const struct detection_place *at, struct layout *out, struct err *err);

#endif
