/*
 * marking/risen: garbage that looks alive again. What a collection left unmarked is swept when its place is needed; until
 * then a stale word can make a later collection mark it. Such an object is nobody's: no program got it in between.
 *
 *   dead after collection 31 | its block last swept in 30 | marked by 35: risen        swept in 31 or later: another one
 *
 * Lists of free objects do not outlive a collection, but for those of threads, which it marks.
 */
#ifndef ALYS_MARKING_RISEN_H
#define ALYS_MARKING_RISEN_H

#include "base/map.h"
#include "boehm/heap.h"

/* A zeroed struct has seen no reading. */
struct risen {
	struct map objects; /* addresses of those that the last reading has marked */
	struct boehm_heap last;
};

/* The next reading, whose heap it takes over when it is one of all blocks. -ENOMEM. */
int risen_note(struct risen *r, struct boehm_heap *h);
void risen_free(struct risen *r);

#endif
