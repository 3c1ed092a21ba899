/* SPDX-License-Identifier: Apache-2.0 */
/* sites/leave: the instructions through which results of probed functions leave. */
#ifndef ALYS_SITES_LEAVE_H
#define ALYS_SITES_LEAVE_H

#include "sites/plan.h"

/* Fills the list's exits and the indexes of each probed site's own. -ENOMEM or 0. */
int leave_find(struct plan *p);

#endif
