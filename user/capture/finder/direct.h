/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finder/direct: functions that keep their arguments in registers until they return. At such an exit one probe sees the
 * whole call, size and result, instead of two. An entry remains for calls that take other paths.
 */
#ifndef ALYS_FINDER_DIRECT_H
#define ALYS_FINDER_DIRECT_H

#include "finder/plan.h"

/* For a site with its exits: fills s->late and the exits' whole_call_of, or leaves them 0. -ENOMEM or 0. */
int direct_find(struct plan *p, struct site *s);

#endif
