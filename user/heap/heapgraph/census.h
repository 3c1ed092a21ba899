/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapgraph/census: what the marked objects of a heap are: Crystal's type ids where objects have them, told
 * from buffers, which have none. In: a heap and the first words of its objects (boehm_unlist), what is known of
 * types. Out: a type an object, and sums.
 *
 * An id is believed in objects of its class' shape (heapgraph/shapes). A String says its own length, which must fit.
 */
#ifndef ALYS_HEAPGRAPH_CENSUS_H
#define ALYS_HEAPGRAPH_CENSUS_H

#include "boehm/heap.h"
#include "heapgraph/types.h"

/* Instead of an id; 0 is no class' id. */
#define CENSUS_UNMARKED 0u
#define CENSUS_BUFFER UINT32_MAX     /* of a kind that holds pointers, no type id in front */
#define CENSUS_DATA (UINT32_MAX - 1) /* the same, without pointers */
#define CENSUS_IS_TYPE(id) ((id) != CENSUS_UNMARKED && (id) < CENSUS_DATA)

struct census_type {
	uint32_t id;
	uint64_t cnt, bytes; /* bytes as the collector rounds them */
};

struct census {
	uint32_t *ids;             /* in the order of boehm_heap.marks */
	struct census_type *types; /* most bytes first; with those of CENSUS_ */
	size_t types_cnt, types_cap;
	uint64_t cnt, bytes;               /* of all that is marked */
	uint64_t doubted;                  /* objects that begin with an id but have not its shape: counted as buffers */
	uint64_t doubtful, doubtful_bytes; /* that have, and may be buffers all the same: shapes_doubtful */
};

/*
 * without_types: the program is not Crystal's, no first word means anything. 0 or -ENOMEM. Then census_free.
 */
int census_take(const struct boehm_heap *h, const uint64_t *words, const struct types *t, bool without_types, struct census *out,
		struct err *err);
void census_free(struct census *c);

/* One row of the heap's accounts: all blocks for objects of one size and kind. */
struct size_class {
	uint64_t size; /* of an object; 0: large ones, together */
	uint8_t kind;
	uint64_t blocks, block_bytes;
	uint64_t slots, live; /* objects that fit, objects marked */
	uint64_t live_bytes;
	uint64_t sparse_blocks; /* of small objects, with less than a quarter of their slots live */
};

struct accounts {
	struct size_class *classes; /* by kind, then size */
	size_t classes_cnt, classes_cap;
	uint64_t live_bytes, slack_bytes; /* slack: slots of blocks in use that are not marked, and block ends */
	uint64_t largest_gap;
};

int accounts_take(const struct boehm_heap *h, struct accounts *out); /* 0 or -ENOMEM */
void accounts_free(struct accounts *a);

/*
 * Blocks of small objects that few live ones keep from being free: blocks (numbers in boehm_heap.blocks)
 * in which at most `share` (0 to 1) of the slots are marked, but one is; fewest live first. Whoever knows
 * where objects were allocated joins them by address. Gives how many; *out is the caller's to free.
 */
size_t accounts_pinned(const struct boehm_heap *h, double share, uint32_t **out);

#endif
