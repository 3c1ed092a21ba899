/* SPDX-License-Identifier: Apache-2.0 */
/* finder/saved_fp: where a function keeps its caller's frame pointer while it uses the register itself. */
#ifndef ALYS_FINDER_SAVED_FP_H
#define ALYS_FINDER_SAVED_FP_H

#include "code/flow.h"

#define SAVED_FP_LOST (-1)

/*
 * For each node, before its instruction: 0 = in its register; CFA - the address of the word that has it; or SAVED_FP_LOST. An array
 * to be freed; NULL: out of memory. Where calls leave the return address in a register, walks find the frame pointer themselves (beside
 * it): all 0.
 */
int32_t *saved_fp(const struct flow *w);

#endif
