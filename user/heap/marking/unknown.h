/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marking/unknown: objects that a collection marked and the recording does not know. In: the marks, the recorded
 * objects, and where the collector has its own variables. Out: marked objects that are neither recorded nor the
 * collector's own.
 *
 *   variables -> tables, threads' records -> lists of free objects, linked by their first words
 *
 * Objects that are no longer linked at that time are recognized by their contents: a free object is zero except for its
 * link, an entry of a disappearing-link table holds two hidden addresses, an entry of the finalizer table a pointer
 * into the collector's code. An abandoned smaller table, kept by a stale word, has its entries in exactly the slots of
 * their keys; if all entries are gone, it is known from when it was in use.
 */
#ifndef ALYS_MARKING_UNKNOWN_H
#define ALYS_MARKING_UNKNOWN_H

#include "base/map.h"
#include "marking/heapset.h"
#include "marking/recorded.h"
#include "marking/roots.h"

#define OWN_VARIABLES_MAX 128

/* Own variables of a collector. */
struct own_places {
	struct root_exclude variables[OWN_VARIABLES_MAX];
	size_t variables_cnt;
	bool nameless; /* no symbols for the variables: only those beside its largest table are known */
	struct root_exclude code;
};

/*
 * A zeroed struct is empty. It is computed over several readings of one heap: objects judged once are not read again
 * while collections mark them, so that a heap of gigabytes is compared piece by piece.
 */
struct unknown {
	struct heapset objects; /* tags: the first word if it may be a type id, 1 = a Crystal String, 0 = anything else */
	struct heapset empty;   /* possibly free, or not written to yet */
	struct map tables; /* address -> size as rounded up by the collector: the collector's own tables, in use or abandoned */
	bool whole;        /* everything was judged; otherwise objects is incomplete */
	uint64_t marked_cnt, marked_bytes; /* totals, without the collector's own */
};

/*
 * The heap must have been read completely. Judges until `most` bytes of the process were read. The caller removes
 * objects from out->objects that are recorded or freed later. 0, -ENOMEM, -ESRCH or -EPERM: then `whole` is false;
 * finally unknown_free.
 */
int unknown_find(struct memory *m, const struct own_places *own, const struct boehm_heap *h, const struct recorded *o,
		 uint64_t most, struct unknown *out);
void unknown_free(struct unknown *u);

#endif
