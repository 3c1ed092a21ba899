/* SPDX-License-Identifier: Apache-2.0 */
/*
 * liveness/older: the objects from before the recording by type. In: those objects with the numbers in front of them, what is
 * known of the program's types. Out: rows. An id is believed as in a census (heapgraph/shapes); where objects have none, rows
 * are of sizes.
 */
#ifndef ALYS_LIVENESS_OLDER_H
#define ALYS_LIVENESS_OLDER_H

#include "heapgraph/types.h"
#include "liveness/unrecorded.h"

/* types: NULL when the program is not Crystal's. 0, -ENOMEM, or what fn gave first that is not 0. */
int older_rows(const struct unrecorded *s, const struct types *types,
	       int (*fn)(void *ctx, const char *type, uint64_t cnt, uint64_t bytes), void *ctx);

#endif
