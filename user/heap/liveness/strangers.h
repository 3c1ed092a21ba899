/*
 * liveness/strangers: does a recording know what its collector marks? In: the disagreement at some collections (boehm's
 * unknown), objects as they are recorded. Out: how much of what was marked last came by ways that are not recorded, and
 * how much was there before the recording.
 *
 * An object that was handed out while the marks were read is recorded a moment later, so it is taken out again then.
 */
#ifndef ALYS_LIVENESS_STRANGERS_H
#define ALYS_LIVENESS_STRANGERS_H

#include <stdbool.h>

#include "marking/unknown.h"

/* Zeroed, but for `whole`: nobody has looked yet. */
struct strangers {
	struct map older;      /* address -> size: there when somebody looked first, or free since */
	struct unknown last;   /* less those; marked_ of all */
	bool whole;            /* the heap began in the recording: nothing is older */
	bool looked;
	uint64_t older_cnt, older_bytes; /* marked last, and older */
	uint64_t bytes;        /* of last.objects */
};

/* Takes u over. -ENOMEM. */
int strangers_note(struct strangers *s, struct unknown *u);
/* An object was recorded at this address. */
void strangers_know(struct strangers *s, uint64_t addr);
void strangers_free(struct strangers *s);

#endif
