/* SPDX-License-Identifier: Apache-2.0 */
/*
 * liveness/unrecorded: does a recording know what its collector marks? In: the disagreement at some collections (boehm's
 * unknown), objects as they are recorded and freed. Out: how much of what was marked last came by ways that are not recorded,
 * and how much was there before the recording.
 *
 * An object that was handed out while the marks were read is recorded a moment later, so it is taken out again then.
 */
#ifndef ALYS_LIVENESS_UNRECORDED_H
#define ALYS_LIVENESS_UNRECORDED_H

#include <stdbool.h>

#include "marking/unknown.h"

/* Zeroed, but for `began_here`: nobody has looked yet. */
struct unrecorded {
	struct unknown now;   /* what is found out about the last readings */
	struct heapset older; /* there when all had been looked at first, and marked since */
	bool began_here;      /* the heap began in the recording: nothing is older */
	bool looked;          /* all was, once */
	uint64_t cnt, bytes;  /* marked last, and not recorded: of now.objects those that are not older */
	uint64_t older_cnt, older_bytes;
	uint64_t empty_cnt, empty_bytes; /* older ones that hold nothing but zeros: maybe free */
};

/* When `now` has changed. -ENOMEM: as if nobody had looked. */
int unrecorded_note(struct unrecorded *s);
/* An object was recorded or freed at this address. */
void unrecorded_know(struct unrecorded *s, uint64_t addr);
/* The marks of a collection are not known: what was judged may have died and be on a free list. */
void unrecorded_missed(struct unrecorded *s);
void unrecorded_free(struct unrecorded *s);

#endif
