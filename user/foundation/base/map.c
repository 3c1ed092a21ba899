/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/map: see map.h. Extendible hashing: a directory, indexed by upper bits of the hash, leads to small tables, each of
 * which is split separately when it is full. Deletion moves later entries of a run back, so there are no tombstones.
 *
 *   parts  0 -> [ keys ...0 ]  depth 1: all keys whose index in the directory ends with this bit
 *          1 -> [ keys ..01 ]  depth 2
 *          2 -> the same as 0
 *          3 -> [ keys ..11 ]  depth 2
 */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#define CAP_FIRST 16
#define CAP_SPLIT 512 /* 12 KB: the memory that growing takes at once */
/* If keys are chosen to collide, tables grow instead of the directory. */
#define ENTRIES_PER_PART 64

struct map_part {
	uint32_t cap, count; /* cap: a power of two */
	uint32_t depth;
	struct map_slot slots[];
};

/* Fibonacci hashing: the constant is 2^64 / golden ratio (Knuth, TAOCP 6.4). */
static uint64_t hash_of(uint64_t key)
{
	return (key ^ (key >> 32)) * 0x9e3779b97f4a7c15ull;
}

static uint64_t directory_hash(uint64_t key)
{
	return hash_of(key) >> 32;
}

static struct map_part *part_of(const struct map *m, uint64_t key)
{
	return m->parts[directory_hash(key) & (m->parts_cnt - 1)];
}

static uint32_t home_of(const struct map_part *p, uint64_t key)
{
	return (uint32_t)(hash_of(key) >> 20) & (p->cap - 1);
}

static struct map_slot *find(struct map_part *p, uint64_t key)
{
	uint32_t i = home_of(p, key);
	while (p->slots[i].used && p->slots[i].key != key)
		i = (i + 1) & (p->cap - 1);
	return &p->slots[i];
}

static struct map_part *part_new(uint32_t cap, uint32_t depth)
{
	struct map_part *p = calloc(1, sizeof(*p) + cap * sizeof(p->slots[0]));
	if (p) {
		p->cap = cap;
		p->depth = depth;
	}
	return p;
}

static void move_in(struct map_part *p, const struct map_slot *s)
{
	*find(p, s->key) = *s;
	p->count++;
}

static void replace(struct map *m, const struct map_part *old, struct map_part *by, size_t place, size_t step)
{
	for (; place < m->parts_cnt; place += step) {
		if (m->parts[place] == old)
			m->parts[place] = by;
	}
}

uint64_t *map_get(const struct map *m, uint64_t key)
{
	if (!m->parts_cnt)
		return NULL;
	struct map_slot *s = find(part_of(m, key), key);
	return s->used ? &s->value : NULL;
}

static bool begin(struct map *m)
{
	m->parts = calloc(1, sizeof(*m->parts));
	if (!m->parts)
		return false;
	m->parts[0] = part_new(CAP_FIRST, 0);
	if (!m->parts[0]) {
		free(m->parts);
		m->parts = NULL;
		return false;
	}
	m->parts_cnt = 1;
	return true;
}

static bool enlarge(struct map *m, struct map_part *p, size_t place)
{
	struct map_part *big = part_new(p->cap * 2, p->depth);
	if (!big)
		return false;
	for (uint32_t i = 0; i < p->cap; i++) {
		if (p->slots[i].used)
			move_in(big, &p->slots[i]);
	}
	size_t step = (size_t)1 << p->depth;
	replace(m, p, big, place & (step - 1), step);
	free(p);
	return true;
}

static bool double_directory(struct map *m)
{
	struct map_part **wide = reallocarray(m->parts, m->parts_cnt * 2, sizeof(*wide));
	if (!wide)
		return false;
	memcpy(wide + m->parts_cnt, wide, m->parts_cnt * sizeof(*wide));
	m->parts = wide;
	m->parts_cnt *= 2;
	return true;
}

static bool split(struct map *m, struct map_part *p, size_t place)
{
	struct map_part *half[2] = { part_new(p->cap, p->depth + 1), part_new(p->cap, p->depth + 1) };
	size_t step = (size_t)1 << p->depth;
	if (!half[0] || !half[1] || (step == m->parts_cnt && !double_directory(m))) {
		free(half[0]);
		free(half[1]);
		return false;
	}
	for (uint32_t i = 0; i < p->cap; i++) {
		if (p->slots[i].used)
			move_in(half[directory_hash(p->slots[i].key) >> p->depth & 1], &p->slots[i]);
	}
	place &= step - 1;
	replace(m, p, half[0], place, step * 2);
	replace(m, p, half[1], place + step, step * 2);
	free(p);
	return true;
}

static bool grow(struct map *m, uint64_t key)
{
	size_t place = directory_hash(key) & (m->parts_cnt - 1);
	struct map_part *p = m->parts[place];
	bool has_way = (size_t)1 << p->depth < m->parts_cnt || m->count / ENTRIES_PER_PART >= m->parts_cnt;
	return p->cap >= CAP_SPLIT && has_way ? split(m, p, place) : enlarge(m, p, place);
}

uint64_t *map_put(struct map *m, uint64_t key)
{
	if (!m->parts_cnt && !begin(m))
		return NULL;
	struct map_part *p = part_of(m, key);
	struct map_slot *s = find(p, key);
	if (s->used)
		return &s->value;
	while (p->count * 4 >= p->cap * 3) {
		if (!grow(m, key))
			return NULL;
		p = part_of(m, key);
		s = find(p, key);
	}
	*s = (struct map_slot){ .key = key, .used = true };
	p->count++;
	m->count++;
	return &s->value;
}

static void delete_at(struct map *m, struct map_part *p, uint32_t hole)
{
	for (uint32_t i = (hole + 1) & (p->cap - 1); p->slots[i].used; i = (i + 1) & (p->cap - 1)) {
		uint32_t home = home_of(p, p->slots[i].key);
		/* An entry may move into the hole unless its home lies between hole and itself. */
		if (((i - home) & (p->cap - 1)) >= ((i - hole) & (p->cap - 1))) {
			p->slots[hole] = p->slots[i];
			hole = i;
		}
	}
	p->slots[hole].used = false;
	p->count--;
	m->count--;
}

bool map_del(struct map *m, uint64_t key)
{
	if (!m->parts_cnt)
		return false;
	struct map_part *p = part_of(m, key);
	struct map_slot *s = find(p, key);
	if (!s->used)
		return false;
	delete_at(m, p, (uint32_t)(s - p->slots));
	return true;
}

/* The table of a directory entry, if it is the first entry that leads to it; else NULL. */
static struct map_part *part_at(const struct map *m, size_t place)
{
	struct map_part *p = m->parts[place];
	return place >> p->depth ? NULL : p;
}

/* Starts behind a free slot: runs do not cross it, so entries moved back were not visited before. */
static void keep_some(struct map *m, struct map_part *p, bool (*wanted)(void *ctx, const struct map_slot *s), void *ctx)
{
	uint32_t at = 0;
	while (p->slots[at].used)
		at++;
	for (uint32_t left = p->cap - 1; left; left--) {
		at = (at + 1) & (p->cap - 1);
		while (p->slots[at].used && !wanted(ctx, &p->slots[at]))
			delete_at(m, p, at);
	}
}

/* Merges two tables that differ only in their last bit into the larger one. */
static bool merge(struct map *m, size_t place)
{
	size_t half = m->parts_cnt / 2;
	struct map_part *to = m->parts[place], *from = m->parts[place + half];
	if (to == from)
		return true;
	if (to->cap < from->cap) {
		to = from;
		from = m->parts[place];
	}
	if ((to->count + from->count) * 8 > to->cap * 5)
		return false;
	for (uint32_t i = 0; i < from->cap; i++) {
		if (from->slots[i].used)
			move_in(to, &from->slots[i]);
	}
	to->depth--;
	free(from);
	m->parts[place] = m->parts[place + half] = to;
	return true;
}

static void shrink(struct map *m)
{
	bool whole = true;
	while (whole && m->parts_cnt > 1) {
		for (size_t i = 0; i < m->parts_cnt / 2; i++)
			whole &= merge(m, i);
		if (whole)
			m->parts_cnt /= 2;
	}
}

void map_keep(struct map *m, bool (*wanted)(void *ctx, const struct map_slot *s), void *ctx)
{
	for (size_t i = 0; i < m->parts_cnt; i++) {
		struct map_part *p = part_at(m, i);
		if (p)
			keep_some(m, p, wanted, ctx);
	}
	shrink(m);
}

const struct map_slot *map_next(const struct map *m, size_t *i)
{
	for (size_t place = *i >> 32; place < m->parts_cnt; place++, *i = place << 32) {
		const struct map_part *p = part_at(m, place);
		for (size_t at; p && (at = (uint32_t)*i) < p->cap;) {
			++*i;
			if (p->slots[at].used)
				return &p->slots[at];
		}
	}
	return NULL;
}

void map_free(struct map *m)
{
	/* Backwards, because part_at reads the table to see whether the entry is its first. */
	for (size_t i = m->parts_cnt; i--;)
		free(part_at(m, i));
	free(m->parts);
	*m = (struct map){ 0 };
}
