/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finder/lists: can the result of libgc's GC_malloc_kind be predicted from the thread's free lists? Read from the
 * function's own code: where the lists are, how many, and which words are objects.
 */
#ifndef ALYS_FINDER_LISTS_H
#define ALYS_FINDER_LISTS_H

#include "finder/plan.h"

/*
 * If so, fills the list's facts and gives s its slow exits: those of paths that do not just take an object from a list.
 * -ENOMEM or 0.
 */
int lists_find(struct plan *p, struct site *s);
/* Can the file be sampled where lists are refilled? -ENOMEM or 0. */
int lists_can_refill(struct plan *p, bool *can);
/*
 * The same facts, for the function that refills the lists: probed in GC_malloc_kind, right after its call. -ENOMEM or
 * 0.
 */
int lists_refill(struct plan *p, struct site *s);

#endif
