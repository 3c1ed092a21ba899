/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marking/recorded: the recorded live objects of one collected heap: address -> size, 16 bytes a slot. A
 * reading of the marks tells which of them a collection reclaimed.
 *
 *   put A, put B, | marked n |, put C, apply(marks of n): A and B may be dead, C was born too late
 *
 * An object is dead when no block in use holds its address or the object there is not marked. One that
 * another object's inside covers counts as that one: aligned allocations point inside of theirs. What a reading does not
 * cover is left alone.
 */
#ifndef ALYS_MARKING_RECORDED_H
#define ALYS_MARKING_RECORDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "boehm/heap.h"

struct recorded_slot {
	uint64_t at; /* address / 16, and the epoch of its birth in the low bits; 0 = free slot */
	uint64_t size;
};

/* A zeroed struct is an empty table. Addresses below 2^47, in steps of 16. */
struct recorded {
	struct recorded_slot *slots;
	size_t cap; /* power of two or 0 */
	size_t count;
	uint32_t epoch;
};

/* 1 and its size in *old when the address was in already: that one is gone then; else 0, or -ENOMEM. */
int recorded_put(struct recorded *o, uint64_t addr, uint64_t size, uint64_t *old);
/* False when it is not in. */
bool recorded_take(struct recorded *o, uint64_t addr, uint64_t *size);
/* A collection has marked all it could reach: what is in the table now was born before it. */
void recorded_marked(struct recorded *o);
/*
 * Takes out what was born before the last recorded_marked and is dead in h, in the order of addresses, and
 * hands it to fn. 0, -ENOMEM (nothing was taken out), or what fn gave first that is not 0.
 */
int recorded_apply(struct recorded *o, const struct boehm_heap *h, int (*fn)(void *ctx, uint64_t addr, uint64_t size), void *ctx);
/* Would recorded_apply call an object at this address dead, were it old enough? */
bool recorded_is_dead(const struct boehm_heap *h, uint64_t addr);
/* All addresses: for (size_t i = 0; recorded_next(o, &i, &addr);) */
bool recorded_next(const struct recorded *o, size_t *i, uint64_t *addr);
void recorded_free(struct recorded *o);

#endif
