/* SPDX-License-Identifier: Apache-2.0 */
/* finder/entry: chooses the site at which a call is seen with its arguments still in registers. */
#ifndef ALYS_FINDER_ENTRY_H
#define ALYS_FINDER_ENTRY_H

#include "finder/plan.h"

/* Sets the entry site of s, or refuses the function. at_entry: with the return address on top of the stack, if possible. */
int entry_choose(struct plan *p, const struct flow *w, struct site *s, bool at_entry);

#endif
