/* SPDX-License-Identifier: Apache-2.0 */
/* finder/result_exits: the instructions through which results of probed functions leave. */
#ifndef ALYS_FINDER_RESULT_EXITS_H
#define ALYS_FINDER_RESULT_EXITS_H

#include "finder/plan.h"

/* Fills the list's exits and the indexes of each probed site's own. -ENOMEM or 0. */
int result_exits_find(struct plan *p);

#endif
