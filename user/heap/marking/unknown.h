/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marking/unknown: what a collection marked and a recording knows nothing of. In: the marks, the recorded objects, and
 * where the collector has its own variables. Out: the marked objects that are neither recorded nor the collector's own.
 *
 *   variables -> tables, threads' records -> lists of free objects, linked by their first words
 *
 * What hangs nowhere any more when we come is told by its looks: a free object is empty but for its link, an entry of
 * the tables of links holds two hidden addresses, one of the finalizers' the collector's own code. A table that was given
 * up for a larger one, and that a stale word keeps, has entries at the very places that their keys have in one of its size;
 * when all of them are gone, it is known from when it was in use.
 */
#ifndef ALYS_MARKING_UNKNOWN_H
#define ALYS_MARKING_UNKNOWN_H

#include "base/map.h"
#include "marking/heapset.h"
#include "marking/recorded.h"
#include "marking/roots.h"

#define OWN_VARIABLES_MAX 128

/* Of a collector. */
struct own_places {
	struct root_exclude variables[OWN_VARIABLES_MAX];
	size_t variables_cnt;
	bool nameless; /* no symbols name the variables: of those beside its largest table nothing is known */
	struct root_exclude code;
};

/*
 * A zeroed struct is an empty one. It is found out over several readings of one heap: what was judged once is not read again
 * as long as collections mark it, so that a heap of gigabytes is compared a part at a time.
 */
struct unknown {
	struct heapset
		objects;      /* tags: the number in front of one that may be a type's, 1 = a Crystal String, 0 = anything else */
	struct heapset empty; /* maybe free, maybe not written to yet */
	struct map tables;    /* address -> size as the collector rounds it: the collector's, in use or not any more */
	bool whole;           /* all was judged; else objects has a part */
	uint64_t marked_cnt, marked_bytes; /* of all, the collector's own left out */
};

/*
 * The heap must have been read whole. Judges until `most` bytes were read of the process. Who hears of an object recorded or
 * freed takes it out of out->objects. 0, -ENOMEM, -ESRCH or -EPERM: then `whole` is false; in the end unknown_free.
 */
int unknown_find(struct memory *m, const struct own_places *own, const struct boehm_heap *h, const struct recorded *o,
		 uint64_t most, struct unknown *out);
void unknown_free(struct unknown *u);

#endif
