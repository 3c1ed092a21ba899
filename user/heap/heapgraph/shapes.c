/* SPDX-License-Identifier: Apache-2.0 */
/* heapgraph/shapes: see shapes.h. */
#include "heapgraph/shapes.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "boehm/heap.h"

#define UNKNOWN_MAX 16384 /* largest class id assumed when the number of classes is unknown */
#define NEAR_MAX 4096     /* how far from an id an unused number is searched */
#define BESIDE_LAST 2ull  /* unused numbers behind the last id, to compare with */
#define GRANULE 16        /* cell sizes are multiples of it */

int shapes_begin(struct shapes *s, const struct types *t)
{
	*s = (struct shapes){ .types = t };
	for (size_t i = 0; i < t->names_cnt; i++)
		s->complete |= t->names[i].known == TYPE_FROM_COMPILER;
	return types_generic(t, &s->generic);
}

void shapes_free(struct shapes *s)
{
	free(s->list);
	map_free(&s->generic);
	map_free(&s->places);
	map_free(&s->best);
	*s = (struct shapes){ 0 };
}

/* The compiler numbers subclasses before their parent, so Reference has the largest id of all classes; structs follow. */
static uint32_t last_id(const struct shapes *s)
{
	return s->types->reference_max ?: UNKNOWN_MAX;
}

bool shapes_may_be(const struct shapes *s, uint32_t first)
{
	return first && first != TYPE_ID_STRING && first <= last_id(s) && !map_get(&s->generic, first) &&
	       (!s->complete || types_get(s->types, first));
}

/* Unique for all ids and sizes seen in practice; shapes whose keys collide are counted as one. */
static uint64_t shape_key(uint32_t id, uint64_t size, uint8_t kind)
{
	return (uint64_t)id << 42 ^ size << 2 ^ (kind & 3);
}

int shapes_count(struct shapes *s, uint32_t first, uint64_t size, uint8_t kind, uint64_t cnt)
{
	if (!first || first > last_id(s) + BESIDE_LAST)
		return 0;
	uint64_t *place = map_put(&s->places, shape_key(first, size, kind));
	if (!place)
		return -ENOMEM;
	if (!*place) {
		struct shape *n = VEC_PUSH(s, list);
		if (!n)
			return -ENOMEM;
		*n = (struct shape){ .id = first, .size = size, .kind = kind };
		*place = s->list_cnt;
	}
	s->list[*place - 1].cnt += cnt;
	return 0;
}

/* Includes the next smaller and larger cells: the collector does not always use the smallest that fits. */
static uint64_t count_near(const struct shapes *s, uint32_t id, const struct shape *n)
{
	uint64_t cnt = 0;
	for (uint64_t size = n->size - GRANULE; size <= n->size + GRANULE; size += GRANULE) {
		const uint64_t *place = map_get(&s->places, shape_key(id, size, n->kind));
		cnt += place ? s->list[*place - 1].cnt : 0;
	}
	return cnt;
}

/* The nearest number that is no class id, below (step -1) or above (1). */
static uint32_t beside(const struct shapes *s, uint32_t id, int step)
{
	id += (uint32_t)step;
	for (int i = 0; i < NEAR_MAX && shapes_may_be(s, id); i++)
		id += (uint32_t)step;
	return id;
}

static bool is_chance(const struct shapes *s, const struct shape *n)
{
	uint32_t above = beside(s, n->id, 1), other = beside(s, n->id, -1);
	/* Objects that begin with the String id may be strings, and are no measure of chance. */
	if (other <= TYPE_ID_STRING)
		other = beside(s, above, 1);
	if (shapes_may_be(s, above) || shapes_may_be(s, other))
		return false;
	uint64_t a = count_near(s, above, n), b = count_near(s, other, n);
	return a && b && count_near(s, n->id, n) <= (a > b ? a : b);
}

/* Of two equally common shapes, the smaller: sizes of buffers vary, those of a class do not. */
int shapes_settle(struct shapes *s)
{
	for (size_t i = 0; i < s->list_cnt; i++) {
		const struct shape *n = &s->list[i];
		if (!shapes_may_be(s, n->id) || is_chance(s, n))
			continue;
		uint64_t *best = map_put(&s->best, n->id);
		if (!best)
			return -ENOMEM;
		const struct shape *old = *best ? &s->list[*best - 1] : NULL;
		if (!old || n->cnt > old->cnt || (n->cnt == old->cnt && n->size < old->size))
			*best = i + 1;
	}
	return 0;
}

bool shapes_doubtful(const struct shapes *s, uint32_t id)
{
	const uint64_t *place = map_get(&s->best, id);
	const struct shape *best = place ? &s->list[*place - 1] : NULL;
	if (!best || s->complete || types_get(s->types, id))
		return false;
	uint64_t cnt = count_near(s, id, best);
	return count_near(s, id - 1, best) >= cnt || count_near(s, id + 1, best) >= cnt;
}

bool shapes_fit(const struct shapes *s, uint32_t id, uint64_t size, uint8_t kind)
{
	const uint64_t *place = map_get(&s->best, id);
	const struct shape *best = place ? &s->list[*place - 1] : NULL;
	/* A single large object with a small number in front is more likely a buffer than a class' only instance. */
	if (!best || (best->cnt == 1 && best->size > BOEHM_BLOCK / 2))
		return false;
	return best->kind == kind && types_cells_alike(best->size, size);
}
