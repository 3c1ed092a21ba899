/* SPDX-License-Identifier: Apache-2.0 */
/* sites/entry: where a call of a function is seen, with its arguments still in their registers. */
#ifndef ALYS_SITES_ENTRY_H
#define ALYS_SITES_ENTRY_H

#include "sites/plan.h"

/* Sets the entry site of s, or refuses it. */
void entry_choose(struct plan *p, const struct flow *w, struct site *s);

#endif
