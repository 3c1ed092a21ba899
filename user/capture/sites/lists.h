/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites/lists: may the result of libgc's GC_malloc_kind be predicted from the thread's free lists? Read
 * from the function's own code: where the lists hang, how many there are, which words are objects.
 */
#ifndef ALYS_SITES_LISTS_H
#define ALYS_SITES_LISTS_H

#include "sites/plan.h"

/*
 * When the code says so, fills the list's facts and gives s its slow exits: those of the ways that do not
 * simply take an object from a list. -ENOMEM or 0.
 */
int lists_find(struct plan *p, struct site *s);
/* Could the file be sampled where the lists are filled? -ENOMEM or 0. */
int lists_can_refill(struct plan *p, bool *can);
/* The same facts, for the function that fills the lists: it is seen in GC_malloc_kind, right behind it. -ENOMEM or 0. */
int lists_refill(struct plan *p, struct site *s);

#endif
