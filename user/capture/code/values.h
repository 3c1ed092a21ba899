/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code/values: what can be proven about the values in a function's registers: the ground under cheap
 * exit sites, and under the choice of functions that need no probe because another one is counted.
 */
#ifndef ALYS_CODE_VALUES_H
#define ALYS_CODE_VALUES_H

#include "code/flow.h"

/* Fills holds and calls_later of every node; false when the code is too twisted to come to an end. */
bool values_held(struct flow *w);

/* Is a function counted by probes of its own, when it is called from here or (!call) jumped to? */
typedef bool (*counted_fn)(void *ctx, uint64_t vaddr, bool call);
/* Does all that the function returns come unchanged from counted functions (or is it NULL)? */
bool values_come_counted(struct flow *w, counted_fn counted, void *ctx);
/* The same for a function that frees its argument reg: each way that has not found it NULL. */
bool values_go_counted(struct flow *w, int reg, counted_fn counted, void *ctx);

#endif
