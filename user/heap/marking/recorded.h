/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marking/recorded: the recorded live objects of one collected heap: address -> size, 16 bytes per slot. A reading of
 * the marks tells which of them a collection freed.
 *
 *   put A, put B, 
 *  marked n 
 * , put C, apply(marks of n): A and B may be dead, C was allocated too late
 *
 * An object is dead if no block in use contains its address or the object there is not marked. An address inside
 * another object counts as that object: aligned allocations point into theirs. What a reading does not cover is left
 * alone.
 */
#ifndef ALYS_MARKING_RECORDED_H
#define ALYS_MARKING_RECORDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "boehm/heap.h"

struct recorded_slot {
	uint64_t at; /* address / 16, with the epoch of its allocation in the low bits; 0 = free slot */
	uint64_t size;
};

/* A zeroed struct is an empty table. Addresses below ADDRESS_END, multiples of 16. */
struct recorded {
	struct recorded_slot *slots;
	size_t cap; /* power of two or 0 */
	size_t count;
	uint32_t epoch;
};

/* 1 and the old size in *old if the address was present: that object is gone; else 0, or -ENOMEM. */
int recorded_put(struct recorded *o, uint64_t addr, uint64_t size, uint64_t *old);
/* False if it is not present. */
bool recorded_take(struct recorded *o, uint64_t addr, uint64_t *size);
/* A collection has finished marking: everything in the table was allocated before. */
void recorded_marked(struct recorded *o);
/*
 * Removes objects allocated before the last recorded_marked that are dead in h, in order of addresses, and passes them
 * to fn. 0, -ENOMEM (nothing was removed), or the first non-zero result of fn.
 */
int recorded_apply(struct recorded *o, const struct boehm_heap *h, int (*fn)(void *ctx, uint64_t addr, uint64_t size), void *ctx);
/* Would recorded_apply report an object at this address dead, if it is old enough? */
bool recorded_is_dead(const struct boehm_heap *h, uint64_t addr);
/* All addresses: for (size_t i = 0; recorded_next(o, &i, &addr);) */
bool recorded_next(const struct recorded *o, size_t *i, uint64_t *addr);
void recorded_free(struct recorded *o);

#endif
