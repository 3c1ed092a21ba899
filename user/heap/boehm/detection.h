/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boehm/detection: finds the collector's layout. In: the memory of a process and the file that contains its collector.
 * Out: a layout verified against the memory: headers name their own blocks, sizes are object sizes, and the sentinel
 * mark after each block's last object is where it must be.
 */
#ifndef ALYS_BOEHM_DETECTION_H
#define ALYS_BOEHM_DETECTION_H

#include <stdint.h>

#include "base/err.h"
#include "boehm/layout.h"
#include "boehm/memory.h"
#include "boehm/space.h"
#include "elf/elf.h"

/* Where to search. */
struct detection_place {
	const struct space *space;
	const struct elf *elf; /* the file that holds the collector: a library or the program */
	uint64_t bias;         /* address in the process - address in the file */
	const char *file;      /* for messages */
};

/*
 * 0, or -ENODATA: the collector is not initialized yet; -ENOTSUP: no layout matches the memory; -ESRCH, -EPERM,
 * -ENOMEM. err says it in one sentence without naming the process.
 */
int layout_find(struct memory *m, const struct detection_place *at, struct layout *out, struct err *err);

#endif
