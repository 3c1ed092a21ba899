/* probe/reach: which probed functions may come to others, by calls and jumps of their own or of what they call. */
#ifndef ALYS_PROBE_REACH_H
#define ALYS_PROBE_REACH_H

#include "probe/plan.h"

/* Fills leaf and jumps of each probed site, and the list's inner code. After leave_find. -ENOMEM or 0. */
int reach_find(struct plan *p);

#endif
