/* SPDX-License-Identifier: Apache-2.0 */
/* sites/leave: through which instructions the results of probed functions leave. */
#ifndef ALYS_SITES_LEAVE_H
#define ALYS_SITES_LEAVE_H

#include "sites/plan.h"

/* Fills the list's exits and each probed site's share of them. -ENOMEM or 0. */
int leave_find(struct plan *p);

#endif
