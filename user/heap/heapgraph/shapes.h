/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapgraph/shapes: which numbers in front of a heap's objects are type ids. In: what is known of types, and of each live
 * object its first number, size and kind. Out: the size and kind that the instances of each class have.
 *
 * A class has one of each, so an id is believed only in objects of about the size (types_cells_alike) and of the kind
 * that most objects with it have. Variables of closures, tuples and other memory without an id begin with small numbers
 * too: numbers that no class has, known with the compiler's list only, tell how often. Where two of them that are nearest
 * to an id stand in front of objects of a size and kind, the id must do so more often than they to be believed there.
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
	struct map generic; /* ids of types that have no instances: those of Array(T), not of Array(Int32) */
	struct shape *list;
	size_t list_cnt, list_cap;
	struct map places; /* of a shape in list, + 1 */
	struct map best;   /* id -> place in list, + 1 */
};

/* Borrows the types. -ENOMEM; then shapes_free. */
int shapes_begin(struct shapes *s, const struct types *t);
void shapes_free(struct shapes *s);
/* Can it be the id of a class other than String? */
bool shapes_may_be(const struct shapes *s, uint32_t first);
/* Of every object but strings, cnt of them at once. -ENOMEM. */
int shapes_count(struct shapes *s, uint32_t first, uint64_t size, uint8_t kind, uint64_t cnt);
/* When all have been counted. -ENOMEM. */
int shapes_settle(struct shapes *s);
/* Is an object that begins with this id an instance of its class? */
bool shapes_fit(const struct shapes *s, uint32_t id, uint64_t size, uint8_t kind);
/*
 * Nobody has a name for it, nor says which numbers are no class's, and the number below or above stands as often in front of
 * objects like its: classes may do so, and so do the variables of closures that count.
 */
bool shapes_doubtful(const struct shapes *s, uint32_t id);

#endif
