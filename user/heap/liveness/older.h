/* SPDX-License-Identifier: Apache-2.0 */
/*
 * liveness/older: objects from before the recording, by type. In: those objects with their first words, known types of
 * the program. Out: rows. Ids are judged as in a census (heapgraph/shapes); objects without a type are grouped by size.
 */
#ifndef ALYS_LIVENESS_OLDER_H
#define ALYS_LIVENESS_OLDER_H

#include "heapgraph/types.h"
#include "liveness/unrecorded.h"

/* types: NULL if the program is not Crystal's. 0, -ENOMEM, or the first non-zero result of fn. */
int older_rows(const struct unrecorded *s, const struct types *types,
	       int (*fn)(void *ctx, const char *type, uint64_t cnt, uint64_t bytes), void *ctx);

#endif
