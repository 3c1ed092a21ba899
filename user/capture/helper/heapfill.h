/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helper/heapfill: the child (child.h) that verifies how we read a collector's heap: it allocates objects of all kinds
 * and sizes, keeps some, drops others, collects, reports what the library says about them, and then waits so that its
 * memory can be read from outside.
 */
#ifndef ALYS_HELPER_HEAPFILL_H
#define ALYS_HELPER_HEAPFILL_H

#include <stdint.h>

#define HEAPFILL_MAX 8192

/* What the library says about one address. */
struct heapfill_object {
	uint64_t addr; /* start of the object, or inside it */
	uint64_t base; /* GC_base, 0 = no object there */
	uint64_t size; /* GC_size */
	uint32_t kind; /* allocated as: 0 atomic, 1 normal, 2 uncollectable */
	uint32_t marked;
};

/* Header of the report. */
struct heapfill_truth {
	uint64_t objects;                           /* number of objects that follow */
	uint64_t gc_no, heap_bytes, unmapped_bytes; /* UINT64_MAX: the library lacks this function */
};

/* The child's main; returns its exit status. */
int heapfill_main(void);

#endif
