/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapgraph/shapes: decides which first words of heap objects are type ids. In: known types, and for each live object
 * its first word, size and kind. Out: the size and kind of the instances of each class.
 *
 * A class has one of each, so an id is accepted only in objects of about the size (types_cells_alike) and of the kind
 * of most objects with it. Closure data, tuples and other memory without an id begin with small numbers, too: numbers
 * that belong to no class, known from the compiler's list only, tell how often. If the two of them nearest to an id
 * occur in objects of a size and kind, the id must occur there more often to be accepted.
 */
#ifndef ALYS_HEAPGRAPH_SHAPES_H
#define ALYS_HEAPGRAPH_SHAPES_H

#include "base/map.h"
#include "heapgraph/types.h"

/* Of all objects that begin with one number: how many have this size and kind. */
struct shape {
	uint32_t id;
	uint64_t size;
	uint8_t kind;
	uint64_t cnt;
};

struct shapes {
	const struct types *types;
	bool complete;      /* every class has a name */
	struct map generic; /* ids of types without instances: those of Array(T), but not of Array(Int32) */
	struct shape *list;
	size_t list_cnt, list_cap;
	struct map places; /* of a shape in list, + 1 */
	struct map best;   /* id -> index in list, + 1 */
};

/* Borrows the types. -ENOMEM; then shapes_free. */
int shapes_begin(struct shapes *s, const struct types *t);
void shapes_free(struct shapes *s);
/* Can it be the id of a class other than String? */
bool shapes_may_be(const struct shapes *s, uint32_t first);
/* Counts cnt objects; call it for every object except strings. -ENOMEM. */
int shapes_count(struct shapes *s, uint32_t first, uint64_t size, uint8_t kind, uint64_t cnt);
/* After all have been counted. -ENOMEM. */
int shapes_settle(struct shapes *s);
/* Is an object that begins with this id an instance of its class? */
bool shapes_fit(const struct shapes *s, uint32_t id, uint64_t size, uint8_t kind);
/*
 * The id has no name, nothing says which numbers are not class ids, and the number below or above occurs as often in
 * similar objects: classes may do so, but so do closures that count.
 */
bool shapes_doubtful(const struct shapes *s, uint32_t id);

#endif
