/* base/map: see map.h. Deleting shifts the run back, so there are no tombstones to clean. */
#include "base/map.h"

#include <stdlib.h>

static size_t home_of(const struct map *m, uint64_t key)
{
	/* Fibonacci hashing: the constant is 2^64 / golden ratio (Knuth, TAOCP 6.4). */
	uint64_t h = (key ^ (key >> 32)) * 0x9e3779b97f4a7c15ull;
	return (size_t)(h >> 20) & (m->cap - 1);
}

static size_t find(const struct map *m, uint64_t key)
{
	size_t i = home_of(m, key);
	while (m->slots[i].used && m->slots[i].key != key)
		i = (i + 1) & (m->cap - 1);
	return i;
}

uint64_t *map_get(const struct map *m, uint64_t key)
{
	if (!m->cap)
		return NULL;
	struct map_slot *s = &m->slots[find(m, key)];
	return s->used ? &s->value : NULL;
}

static bool grow(struct map *m)
{
	struct map big = { .cap = m->cap ? m->cap * 2 : 64, .count = m->count };
	big.slots = calloc(big.cap, sizeof(*big.slots));
	if (!big.slots)
		return false;
	for (size_t i = 0; i < m->cap; i++) {
		if (m->slots[i].used)
			big.slots[find(&big, m->slots[i].key)] = m->slots[i];
	}
	free(m->slots);
	*m = big;
	return true;
}

uint64_t *map_put(struct map *m, uint64_t key)
{
	if (m->count * 4 >= m->cap * 3 && !grow(m))
		return NULL;
	struct map_slot *s = &m->slots[find(m, key)];
	if (!s->used) {
		*s = (struct map_slot){ .key = key, .used = true };
		m->count++;
	}
	return &s->value;
}

bool map_del(struct map *m, uint64_t key)
{
	if (!m->cap)
		return false;
	size_t hole = find(m, key);
	if (!m->slots[hole].used)
		return false;
	for (size_t i = (hole + 1) & (m->cap - 1); m->slots[i].used; i = (i + 1) & (m->cap - 1)) {
		size_t home = home_of(m, m->slots[i].key);
		/* An entry may move into the hole unless its home lies between hole and itself. */
		if (((i - home) & (m->cap - 1)) >= ((i - hole) & (m->cap - 1))) {
			m->slots[hole] = m->slots[i];
			hole = i;
		}
	}
	m->slots[hole].used = false;
	m->count--;
	return true;
}

const struct map_slot *map_next(const struct map *m, size_t *i)
{
	while (*i < m->cap) {
		const struct map_slot *s = &m->slots[(*i)++];
		if (s->used)
			return s;
	}
	return NULL;
}

void map_free(struct map *m)
{
	free(m->slots);
	*m = (struct map){ 0 };
}
