/*
 * boehm/unknown: what a collection marked and a recording knows nothing of. In: the marks, the recorded objects, and
 * where the collector has its own variables. Out: the marked objects that are neither recorded nor the collector's own.
 *
 *   variables -> tables, threads' records -> lists of free objects, linked by their first words
 *
 * What hangs nowhere any more when we come is told by its looks: a free object is empty but for its link, an entry of
 * the tables of links holds two hidden addresses, one of the finalizers' the collector's own code.
 */
#ifndef ALYS_BOEHM_UNKNOWN_H
#define ALYS_BOEHM_UNKNOWN_H

#include "base/map.h"
#include "boehm/recorded.h"
#include "boehm/roots.h"

#define OWN_VARIABLES_MAX 128

/* Of a collector. */
struct own_places {
	struct root_exclude variables[OWN_VARIABLES_MAX];
	size_t variables_cnt;
	struct root_exclude code;
};

/* A zeroed struct is an empty one. */
struct unknown {
	struct map objects; /* address -> size as the collector rounds it */
	uint64_t marked_cnt, marked_bytes; /* of all, the collector's own left out */
};

/* The heap must have been read whole. 0, -ENOMEM, -ESRCH or -EPERM; then unknown_free. */
int unknown_find(struct memory *m, const struct own_places *own, const struct boehm_heap *h, const struct recorded *o,
		 struct unknown *out);
void unknown_free(struct unknown *u);

#endif
