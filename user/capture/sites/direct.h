/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites/direct: functions that keep their arguments in registers to the end. At such an exit a call is seen whole: how much
 * was asked for and what came of it, by one probe instead of two. An entry is left for the calls that go another way.
 */
#ifndef ALYS_SITES_DIRECT_H
#define ALYS_SITES_DIRECT_H

#include "sites/plan.h"

/* For a site with its exits: fills s->late and the exits' whole_of, or leaves them 0. -ENOMEM or 0. */
int direct_find(struct plan *p, struct site *s);

#endif
