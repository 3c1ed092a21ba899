/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marking/resurrected: garbage that a later collection marks again. Unmarked objects are swept only when their memory
 * is needed; until then a stale word can make a later collection mark one. It still belongs to nobody: it was not
 * allocated in between.
 *
 *   dead after collection 31 
 *  its block last swept in 30 
 *  marked by 35: resurrected; swept in 31 or later: a new object
 *
 * Free lists do not survive a collection, except those of threads, which it marks.
 */
#ifndef ALYS_MARKING_RESURRECTED_H
#define ALYS_MARKING_RESURRECTED_H

#include "base/map.h"
#include "boehm/heap.h"

/* A zeroed struct has seen no reading. */
struct resurrected {
	struct map objects; /* addresses of resurrected objects marked in the last reading */
	struct boehm_heap last;
};

/* Takes the next reading, and its heap if it covers all blocks. -ENOMEM. */
int resurrected_note(struct resurrected *r, struct boehm_heap *h);
void resurrected_free(struct resurrected *r);

#endif
