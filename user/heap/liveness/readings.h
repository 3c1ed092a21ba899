/* SPDX-License-Identifier: Apache-2.0 */
/*
 * liveness/readings: the marks of single collections, from when they were read until the thread that finds the collection in
 * the main ring takes them. No lock of its own.
 */
#ifndef ALYS_LIVENESS_READINGS_H
#define ALYS_LIVENESS_READINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "boehm/heap.h"

struct mark_reading {
	uint32_t tgid, gc_no;
	uint64_t serial;   /* of the collection, as in its records */
	uint32_t era;      /* probe_gc_era when the reading began */
	uint64_t until_ns; /* end of the reading */
	bool good;         /* heap holds the marks of this collection, of all objects or of sampled ones */
	struct boehm_heap heap;
	struct buf copy; /* contents of its objects at that time, see heapreader_copy; empty = not copied */
};

/* NULL is allowed. */
void mark_reading_free(struct mark_reading *r);

/* Zeroed: none. Oldest first. */
struct readings {
	struct mark_reading **list;
	size_t list_cnt, list_cap;
	size_t sz; /* memory that they take, in bytes */
};

/* Takes the reading over. Drops the oldest ones where too many were not taken; itself if there is no memory. */
void readings_keep(struct readings *k, struct mark_reading *r);
/* The caller's from then on. NULL: there is none of this collection. */
struct mark_reading *readings_take(struct readings *k, uint32_t tgid, uint64_t serial);
void readings_free(struct readings *k);

#endif
