/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finder/taken: the one place in GC_malloc_kind where a list's head, in a register, is told from a count. A call that gets a block
 * there is seen whole; any other comes there again after a refill, or jumps to the function for what lists do not serve.
 */
#ifndef ALYS_FINDER_TAKEN_H
#define ALYS_FINDER_TAKEN_H

#include "finder/plan.h"

/* For a predicted site with its exits: adds that place to the list's exits and fills s->late, or does neither. -ENOMEM or 0. */
int taken_find(struct plan *p, struct site *s);

#endif
