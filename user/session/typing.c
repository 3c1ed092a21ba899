/* session/typing: see typing.h. */
#include "session/typing.h"

#include <errno.h>

#include "base/map.h"

#define IDS_END 65536 /* without the compiler's list: more types than any program has */

int typing_begin(struct typing *t, const struct types *types, const struct fields *fields)
{
	/* Classes are numbered before their parent, Reference; values come behind it. */
	*t = (struct typing){ .types = types, .ids_end = types->reference_max ?: IDS_END };
	for (size_t i = 0; i < types->names_cnt; i++) {
		const struct type_name *n = &types->names[i];
		const struct field_class *c = fields_class(fields, n->name);
		t->complete |= n->known == TYPE_FROM_COMPILER;
		if (!c || !c->size || n->id == TYPE_ID_STRING)
			continue;
		uint64_t *size = map_put(&t->sizes, n->id);
		if (!size)
			return -ENOMEM;
		*size = c->size;
	}
	return types_generic(types, &t->generic);
}

void typing_end(struct typing *t)
{
	map_free(&t->sizes);
	map_free(&t->generic);
}

uint32_t typing_of(void *ctx, uint32_t first, uint64_t size, uint8_t kind)
{
	const struct typing *t = ctx;
	if (t->none || !first || first >= t->ids_end || map_get(&t->generic, first))
		return 0;
	if (first == TYPE_ID_STRING)
		return kind == HEAP_ATOMIC ? first : 0;
	if (t->complete && !types_get(t->types, first))
		return 0;
	const uint64_t *asked = map_get(&t->sizes, first);
	/* The collector adds a byte and rounds up, by at most as much again. */
	return asked && (size < *asked || size > *asked * 2 + 32) ? 0 : first;
}

static uint64_t shape_of(const struct graph_object *o)
{
	return (uint64_t)o->type << 32 | (uint32_t)(o->size << 2 | (o->kind & 3));
}

/* Of each class the size and kind that most of its objects have. */
static int find_shapes(const struct graph *g, struct map *shapes)
{
	struct map counts = { 0 };
	int rc = 0;
	for (size_t i = 0; i < g->objects_cnt && !rc; i++) {
		const struct graph_object *o = &g->objects[i];
		if (!o->type)
			continue;
		uint64_t *count = map_put(&counts, shape_of(o)), *best = map_put(shapes, o->type);
		rc = count && best ? 0 : -ENOMEM;
		if (!rc) {
			++*count;
			const uint64_t *most = *best ? map_get(&counts, *best) : NULL;
			if (!most || *count > *most)
				*best = shape_of(o);
		}
	}
	map_free(&counts);
	return rc;
}

static bool fits(uint64_t shape, const struct graph_object *o)
{
	return (shape & 3) == (o->kind & 3) && types_cells_alike((shape & UINT32_MAX) >> 2, o->size);
}

int typing_settle(void *ctx, struct graph *g)
{
	const struct typing *t = ctx;
	struct map shapes = { 0 };
	int rc = find_shapes(g, &shapes);
	for (size_t i = 0; i < g->objects_cnt && !rc; i++) {
		struct graph_object *o = &g->objects[i];
		if (!o->type || o->type == TYPE_ID_STRING)
			continue;
		const uint64_t *asked = map_get(&t->sizes, o->type), *shape = map_get(&shapes, o->type);
		if (!asked && shape && !fits(*shape, o))
			o->type = 0;
		else if (asked && *asked <= o->size)
			o->asked = *asked;
	}
	map_free(&shapes);
	return rc;
}
