/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapgraph/census: classifies the marked objects of a heap: by Crystal's type ids, or as buffers, which have none. In:
 * a heap and the first words of its objects (boehm_unlist), known types. Out: a type per object, and sums.
 *
 * An id is accepted only in objects of its class' shape (heapgraph/shapes). A String's stored length must fit.
 */
#ifndef ALYS_HEAPGRAPH_CENSUS_H
#define ALYS_HEAPGRAPH_CENSUS_H

#include "boehm/heap.h"
#include "heapgraph/types.h"

/* Special values; 0 is not a class id. */
#define CENSUS_UNMARKED 0u
#define CENSUS_BUFFER UINT32_MAX     /* of a kind that holds pointers, without type id */
#define CENSUS_DATA (UINT32_MAX - 1) /* the same, without pointers */
#define CENSUS_IS_TYPE(id) ((id) != CENSUS_UNMARKED && (id) < CENSUS_DATA)

struct census_type {
	uint32_t id;
	uint64_t cnt, bytes; /* bytes as rounded up by the collector */
};

struct census {
	uint32_t *ids;             /* in the order of boehm_heap.marks */
	struct census_type *types; /* most bytes first; including CENSUS_ values */
	size_t types_cnt, types_cap;
	uint64_t cnt, bytes;               /* totals of all marked objects */
	uint64_t doubted;                  /* objects that start with an id but lack its shape: counted as buffers */
	uint64_t doubtful, doubtful_bytes; /* objects that have the shape, but may still be buffers: shapes_doubtful */
};

/* without_types: not a Crystal program, first words have no meaning. 0 or -ENOMEM. Then census_free. */
int census_take(const struct boehm_heap *h, const uint64_t *words, const struct types *t, bool without_types, struct census *out,
		struct err *err);
void census_free(struct census *c);

/* One row of the heap's statistics: all blocks for objects of one size and kind. */
struct size_class {
	uint64_t size; /* of an object; 0: all large ones */
	uint8_t kind;
	uint64_t blocks, block_bytes;
	uint64_t slots, live; /* capacity in objects, marked objects */
	uint64_t live_bytes;
	uint64_t sparse_blocks; /* of small objects, with less than a quarter of the slots live */
};

struct accounts {
	struct size_class *classes; /* by kind, then size */
	size_t classes_cnt, classes_cap;
	uint64_t live_bytes, slack_bytes; /* slack: unmarked slots of blocks in use, and block ends */
	uint64_t largest_gap;
};

int accounts_take(const struct boehm_heap *h, struct accounts *out); /* 0 or -ENOMEM */
void accounts_free(struct accounts *a);

/*
 * Blocks of small objects that a few live ones prevent from being freed: blocks (indexes in boehm_heap.blocks) in which
 * at least one and at most `share` (0 to 1) of the slots is marked; fewest live first. Callers that know allocation
 * sites join them by address. Returns the number; the caller frees *out.
 */
size_t accounts_pinned(const struct boehm_heap *h, double share, uint32_t **out);

#endif
