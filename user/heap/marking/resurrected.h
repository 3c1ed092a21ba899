/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marking/resurrected: garbage that looks alive again. What a collection left unmarked is swept when its place is needed; until
 * then a stale word can make a later collection mark it. Such an object is nobody's: no program got it in between.
 *
 *   dead after collection 31 | its block last swept in 30 | marked by 35: resurrected  swept in 31 or later: another one
 *
 * Lists of free objects do not outlive a collection, but for those of threads, which it marks.
 */
#ifndef ALYS_MARKING_RESURRECTED_H
#define ALYS_MARKING_RESURRECTED_H

#include "base/map.h"
#include "boehm/heap.h"

/* A zeroed struct has seen no reading. */
struct resurrected {
	struct map objects; /* addresses of those that the last reading has marked */
	struct boehm_heap last;
};

/* The next reading, whose heap it takes over when it is one of all blocks. -ENOMEM. */
int resurrected_note(struct resurrected *r, struct boehm_heap *h);
void resurrected_free(struct resurrected *r);

#endif
