/* SPDX-License-Identifier: Apache-2.0 */
/*
 * liveness/unrecorded: does a recording know everything that the collector marks? In: the differences found at some
 * collections (marking/unknown), objects as they are recorded and freed. Out: how much of what was marked last was
 * allocated in unrecorded ways, and how much before the recording.
 *
 * An object allocated while the marks were read is recorded a moment later, and removed here then.
 */
#ifndef ALYS_LIVENESS_UNRECORDED_H
#define ALYS_LIVENESS_UNRECORDED_H

#include <stdbool.h>

#include "marking/unknown.h"

/* Zeroed, except `began_here`: nothing compared yet. */
struct unrecorded {
	struct unknown now;   /* result of the latest readings */
	struct heapset older; /* present at the first complete comparison, and marked ever since */
	bool began_here;      /* the heap was created during the recording: nothing is older */
	bool looked;          /* everything was compared at least once */
	uint64_t cnt, bytes;  /* marked last, not recorded, and not older: part of now.objects */
	uint64_t older_cnt, older_bytes;
	uint64_t empty_cnt, empty_bytes; /* older ones that contain only zeros: possibly free */
};

/* Call when `now` has changed. -ENOMEM: as if nothing had been compared. */
int unrecorded_note(struct unrecorded *s);
/* An object was recorded or freed at this address. */
void unrecorded_know(struct unrecorded *s, uint64_t addr);
/* The marks of a collection are unknown: objects judged before may have died and be on a free list. */
void unrecorded_missed(struct unrecorded *s);
void unrecorded_free(struct unrecorded *s);

#endif
