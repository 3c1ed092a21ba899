/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helper/heapfill: the child (child.h) that proves how a collector's heap is read: it allocates objects
 * of all kinds and sizes, keeps some and drops others, collects, says what the library answers about
 * them, and then stands still until the sign, so that its memory can be read from outside.
 */
#ifndef ALYS_HELPER_HEAPFILL_H
#define ALYS_HELPER_HEAPFILL_H

#include <stdint.h>

#define HEAPFILL_MAX 8192

/* What the library says of one address. */
struct heapfill_object {
	uint64_t addr; /* of its begin or within it */
	uint64_t base; /* GC_base, 0 = no object there */
	uint64_t size; /* GC_size */
	uint32_t kind; /* it was allocated as: 0 atomic, 1 normal, 2 uncollectable */
	uint32_t marked;
};

/* Comes first. */
struct heapfill_truth {
	uint64_t objects;                           /* that follow */
	uint64_t gc_no, heap_bytes, unmapped_bytes; /* UINT64_MAX: it has no such function */
};

/* The child's main; gives its exit status. */
int heapfill_main(void);

#endif
