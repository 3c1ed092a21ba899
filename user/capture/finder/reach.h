/* SPDX-License-Identifier: Apache-2.0 */
/* finder/reach: which probed functions may reach others, by their own calls and jumps or those of their callees. */
#ifndef ALYS_FINDER_REACH_H
#define ALYS_FINDER_REACH_H

#include "finder/plan.h"

/* Fills leaf and jumps of each probed site, and the list's inner code. After result_exits_find. -ENOMEM or 0. */
int reach_find(struct plan *p);

#endif
