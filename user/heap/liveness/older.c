/* SPDX-License-Identifier: Apache-2.0 */
/* liveness/older: see older.h. */
#include "liveness/older.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/vec.h"
#include "heapgraph/census.h"
#include "heapgraph/shapes.h"

/* Objects with the same first number, size and kind. */
struct cell {
	uint32_t id; /* the type id, or the substitute that a census uses */
	uint64_t size, cnt, bytes;
	uint8_t kind;
};

struct sorting {
	const struct types *types;
	struct shapes shapes;
	struct map places; /* key -> index in list + 1 */
	struct cell *list;
	size_t list_cnt, list_cap;
};

static int add(struct sorting *k, uint64_t key, const struct cell *of)
{
	uint64_t *place = map_put(&k->places, key);
	struct cell *fresh = place && !*place ? VEC_PUSH(k, list) : NULL;
	if (!place || (!*place && !fresh))
		return -ENOMEM;
	if (fresh) {
		*fresh = (struct cell){ .id = of->id, .size = of->size, .kind = of->kind };
		*place = k->list_cnt;
	}
	k->list[*place - 1].cnt += of->cnt;
	k->list[*place - 1].bytes += of->bytes;
	return 0;
}

static int gather(struct sorting *k, const struct unrecorded *s)
{
	int rc = 0;
	for (struct heapset_at at = { 0 }; !rc && heapset_next_common(&s->now.objects, &s->older, &at);) {
		struct cell one = { k->types ? at.tag : 0, at.of->size, 1, at.of->size, at.of->kind };
		rc = add(k, (uint64_t)one.id << 42 ^ one.size << 2 ^ (one.kind & 3), &one);
	}
	return rc;
}

static int learn_shapes(struct sorting *k)
{
	int rc = shapes_begin(&k->shapes, k->types);
	for (size_t i = 0; i < k->list_cnt && !rc; i++) {
		const struct cell *c = &k->list[i];
		if (c->id != TYPE_ID_STRING)
			rc = shapes_count(&k->shapes, c->id, c->size, c->kind, c->cnt);
	}
	return rc ?: shapes_settle(&k->shapes);
}

static bool has_pointers(const struct cell *c)
{
	return c->kind != HEAP_ATOMIC && c->kind != HEAP_ATOMIC_UNCOLLECTABLE;
}

static bool is_type(const struct sorting *k, const struct cell *c)
{
	return c->id == TYPE_ID_STRING || (shapes_may_be(&k->shapes, c->id) && shapes_fit(&k->shapes, c->id, c->size, c->kind));
}

/* Merges cells that belong to the same output row. */
static int merge(struct sorting *k, struct sorting *rows)
{
	int rc = 0;
	for (size_t i = 0; i < k->list_cnt && !rc; i++) {
		struct cell c = k->list[i];
		if (k->types)
			c.id = is_type(k, &c) ? c.id : has_pointers(&c) ? CENSUS_BUFFER : CENSUS_DATA;
		rc = add(rows, k->types ? c.id : c.size << 1 | has_pointers(&c), &c);
	}
	return rc;
}

static void name_row(const struct sorting *k, const struct cell *c, struct buf *out)
{
	if (!k->types)
		buf_addf(out, "%" PRIu64 " bytes%s", c->size, has_pointers(c) ? "" : " without pointers");
	else if (c->id == CENSUS_BUFFER)
		buf_adds(out, "(buffer)");
	else if (c->id == CENSUS_DATA)
		buf_adds(out, "(buffer without pointers)");
	else
		types_text(k->types, c->id, out);
}

static int hand_out(const struct sorting *k, const struct sorting *rows,
		    int (*fn)(void *ctx, const char *type, uint64_t cnt, uint64_t bytes), void *ctx)
{
	int rc = 0;
	for (size_t i = 0; i < rows->list_cnt && !rc; i++) {
		struct buf name = { 0 };
		name_row(k, &rows->list[i], &name);
		rc = name.failed ? -ENOMEM : fn(ctx, buf_str(&name), rows->list[i].cnt, rows->list[i].bytes);
		buf_free(&name);
	}
	return rc;
}

int older_rows(const struct unrecorded *s, const struct types *types,
	       int (*fn)(void *ctx, const char *type, uint64_t cnt, uint64_t bytes), void *ctx)
{
	struct sorting k = { .types = types }, rows = { 0 };
	int rc = gather(&k, s);
	if (!rc && types)
		rc = learn_shapes(&k);
	if (!rc)
		rc = merge(&k, &rows);
	if (!rc)
		rc = hand_out(&k, &rows, fn, ctx);
	shapes_free(&k.shapes);
	map_free(&k.places);
	map_free(&rows.places);
	free(k.list);
	free(rows.list);
	return rc;
}
