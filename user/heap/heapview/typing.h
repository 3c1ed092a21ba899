/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapview/typing: is what an object's first four bytes say its type? Names and sizes of instances say
 * which numbers can be one; where no size is known, the shape of its class does (heapgraph/shapes). Raw memory that begins
 * with such a number by chance, in a cell of such a size, is taken for an object.
 */
#ifndef ALYS_HEAPVIEW_TYPING_H
#define ALYS_HEAPVIEW_TYPING_H

#include "heapgraph/fields.h"
#include "heapgraph/graph.h"
#include "heapgraph/shapes.h"

struct typing {
	struct map sizes; /* type id -> bytes of an instance, where known */
	struct shapes shapes;
	bool failed; /* no memory to count with */
	bool none;   /* not a program of Crystal's: first words mean nothing */
};

/* Borrows both. -ENOMEM. */
int typing_begin(struct typing *t, const struct types *types, const struct fields *fields);
void typing_end(struct typing *t);
/* Fit as graph_typing. 0 = raw memory. */
uint32_t typing_of(void *ctx, uint32_t first, uint64_t size, uint8_t kind);
/* Objects of another size than their class are raw memory; notes what was asked for where that is known. */
int typing_settle(void *ctx, struct graph *g);

#endif
