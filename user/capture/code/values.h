/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code/values: what can be proven about values in a function's registers. The basis of cheap exit sites, and of leaving
 * out probes on functions that call another probed one.
 */
#ifndef ALYS_CODE_VALUES_H
#define ALYS_CODE_VALUES_H

#include "code/flow.h"

/* Fills holds and calls_later of every node; false if the code is too complex to finish. */
bool values_held(struct flow *w);

/* A call by libgc of what the user wants done without memory: normally it gives no block. */
bool values_last_resort(const struct flow_node *n);

/*
 * What registers are known to hold before each node, on every way that leads there: an array to be freed. NULL: out of
 * memory.
 */
struct insn_known *values_known(const struct flow *w);

/* Is a function probed itself, when called from here or (!call) jumped to? */
typedef bool (*counted_fn)(void *ctx, uint64_t vaddr, bool call);
/* Is everything that the function returns the unchanged result of probed functions (or NULL)? */
bool values_come_counted(struct flow *w, counted_fn counted, void *ctx);
/* The same for a function that frees its argument reg: every path on which reg is not NULL. */
bool values_go_counted(struct flow *w, int reg, counted_fn counted, void *ctx);

#endif
