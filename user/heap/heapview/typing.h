/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapview/typing: decides whether an object's first four bytes are its type id. Known names and instance sizes limit
 * which numbers can be ids; if the size is unknown, the shape of the class does (heapgraph/shapes). Raw memory that
 * happens to begin with such a number, in a cell of a matching size, is taken for an object.
 */
#ifndef ALYS_HEAPVIEW_TYPING_H
#define ALYS_HEAPVIEW_TYPING_H

#include "heapgraph/fields.h"
#include "heapgraph/graph.h"
#include "heapgraph/shapes.h"

struct typing {
	struct map sizes; /* type id -> size of an instance, if known */
	struct shapes shapes;
	bool failed; /* out of memory while counting */
	bool none;   /* not a Crystal program: first words have no meaning */
};

/* Borrows both. -ENOMEM. */
int typing_begin(struct typing *t, const struct types *types, const struct fields *fields);
void typing_end(struct typing *t);
/* Callbacks of graph_typing. 0 = raw memory. */
uint32_t typing_of(void *ctx, uint32_t first, uint64_t size, uint8_t kind);
/* Objects whose size does not match their class are raw memory; stores the requested size if known. */
int typing_settle(void *ctx, struct graph *g);

#endif
