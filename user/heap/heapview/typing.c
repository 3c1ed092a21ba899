/* SPDX-License-Identifier: Apache-2.0 */
/* heapview/typing: see typing.h. */
#include "heapview/typing.h"

#include <errno.h>

#include "base/map.h"

int typing_begin(struct typing *t, const struct types *types, const struct fields *fields)
{
	*t = (struct typing){ 0 };
	for (size_t i = 0; i < types->names_cnt; i++) {
		const struct type_name *n = &types->names[i];
		const struct field_class *c = fields_class(fields, n->name);
		if (!c || !c->size || n->id == TYPE_ID_STRING)
			continue;
		uint64_t *size = map_put(&t->sizes, n->id);
		if (!size)
			return -ENOMEM;
		*size = c->size;
	}
	return shapes_begin(&t->shapes, types);
}

void typing_end(struct typing *t)
{
	map_free(&t->sizes);
	shapes_free(&t->shapes);
}

uint32_t typing_of(void *ctx, uint32_t first, uint64_t size, uint8_t kind)
{
	struct typing *t = ctx;
	if (t->none || !first)
		return 0;
	if (first == TYPE_ID_STRING && kind == HEAP_ATOMIC)
		return first;
	t->failed |= shapes_count(&t->shapes, first, size, kind, 1) != 0;
	if (!shapes_may_be(&t->shapes, first))
		return 0;
	const uint64_t *asked = map_get(&t->sizes, first);
	/* The collector adds a byte and rounds up to the next size class. */
	return asked && (size < *asked || size > *asked * 2 + 32) ? 0 : first;
}

int typing_settle(void *ctx, struct graph *g)
{
	struct typing *t = ctx;
	int rc = t->failed ? -ENOMEM : shapes_settle(&t->shapes);
	for (size_t i = 0; i < g->objects_cnt && !rc; i++) {
		struct graph_object *o = &g->objects[i];
		if (!o->type || o->type == TYPE_ID_STRING)
			continue;
		const uint64_t *asked = map_get(&t->sizes, o->type);
		if (!asked && !shapes_fit(&t->shapes, o->type, o->size, o->kind))
			o->type = 0;
		else if (asked && *asked <= o->size)
			o->asked = *asked;
	}
	return rc;
}
