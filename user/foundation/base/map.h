/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/map: hash map u64 -> u64, the hot table of the heap model. It grows in steps of a few kilobytes, whatever its
 * size, so that memory limits can be enforced. Key 0 is allowed. A zeroed struct is an empty map. Adding fails only
 * when out of memory.
 */
#ifndef ALYS_BASE_MAP_H
#define ALYS_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot {
	uint64_t key, value;
	bool used;
};

struct map_part;

struct map {
	struct map_part **parts;
	size_t parts_cnt; /* power of two or 0 */
	size_t count;
};

/* The value's address, or NULL. Valid until the next put or del. */
uint64_t *map_get(const struct map *m, uint64_t key);
/* The value's address, added with value 0 if new; NULL when out of memory. */
uint64_t *map_put(struct map *m, uint64_t key);
bool map_del(struct map *m, uint64_t key);
/*
 * Removes entries for which `wanted` returns false; it is called once for each. Allocates nothing, and releases unused
 * memory.
 */
void map_keep(struct map *m, bool (*wanted)(void *ctx, const struct map_slot *s), void *ctx);
/* for (size_t i = 0; (s = map_next(m, &i));) walks all entries in table order. */
const struct map_slot *map_next(const struct map *m, size_t *i);
void map_free(struct map *m);

#endif
