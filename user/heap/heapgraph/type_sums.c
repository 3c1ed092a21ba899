/* SPDX-License-Identifier: Apache-2.0 */
/* heapgraph/type_sums: object counts and sizes by type; see picture.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "heapgraph/picture.h"

struct row {
	uint32_t type;
	uint32_t place; /* index in members of the row's first object */
	uint64_t value;
};

struct rows {
	struct row *rows;
	size_t rows_cnt, rows_cap;
	uint32_t *members; /* objects, grouped by row */
};

static int by_value(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return x->type < y->type ? -1 : x->type > y->type;
}

/* One row per type; value is its number of objects. */
static int count(const struct graph *g, struct rows *r)
{
	struct map places = { 0 };
	int rc = 0;
	for (size_t i = 0; i < g->objects_cnt && !rc; i++) {
		if (!g->objects[i].type)
			continue;
		uint64_t *place = map_put(&places, g->objects[i].type);
		struct row *row = !place ? NULL : *place ? &r->rows[*place - 1] : VEC_PUSH(r, rows);
		if (!row) {
			rc = -ENOMEM;
			break;
		}
		*place = (uint64_t)(row - r->rows) + 1;
		row->type = g->objects[i].type;
		row->value++;
	}
	r->members = malloc((g->objects_cnt + 1) * sizeof(*r->members));
	if (!r->members)
		rc = -ENOMEM;
	for (uint32_t i = 0, at = 0; i < r->rows_cnt; at += (uint32_t)r->rows[i++].value)
		r->rows[i].place = at;
	for (size_t i = 0; i < g->objects_cnt && !rc; i++) {
		uint64_t *place = g->objects[i].type ? map_get(&places, g->objects[i].type) : NULL;
		if (place)
			r->members[r->rows[*place - 1].place++] = (uint32_t)i;
	}
	map_free(&places);
	return rc;
}

static int print(const struct picture *p, struct rows *r, int rc, struct buf *out)
{
	if (!rc) {
		if (r->rows_cnt)
			qsort(r->rows, r->rows_cnt, sizeof(*r->rows), by_value);
		buf_addf(out, "%zu\n", r->rows_cnt);
	}
	for (size_t i = 0; i < r->rows_cnt && !rc; i++) {
		buf_addf(out, "%" PRIu64 "\t", r->rows[i].value);
		types_text(p->types, r->rows[i].type, out);
		buf_u8(out, '\n');
	}
	free(r->rows);
	free(r->members);
	return rc ? rc : out->failed ? -ENOMEM : 0;
}

int picture_counts(const struct picture *p, struct buf *out)
{
	struct rows r = { 0 };
	return print(p, &r, count(p->graph, &r), out);
}

int picture_sizes(const struct picture *p, struct buf *out)
{
	size_t n = p->graph->objects_cnt + 1;
	uint32_t *marks = calloc(n, sizeof(*marks)), *stack = malloc(n * sizeof(*stack));
	struct rows r = { 0 };
	int rc = marks && stack ? count(p->graph, &r) : -ENOMEM;
	for (uint32_t i = 0; i < r.rows_cnt && !rc; i++) {
		struct row *row = &r.rows[i];
		/* Filling in the members advanced place to behind the last one. */
		row->value = graph_reach(p->graph, r.members + row->place - row->value, row->value, marks, i + 1, stack);
	}
	free(marks);
	free(stack);
	return print(p, &r, rc, out);
}

int picture_size(const struct picture *p, uint32_t object, uint64_t *out)
{
	size_t n = p->graph->objects_cnt + 1;
	uint32_t *marks = calloc(n, sizeof(*marks)), *stack = malloc(n * sizeof(*stack));
	if (marks && stack)
		*out = graph_reach(p->graph, &object, 1, marks, 1, stack);
	free(marks);
	free(stack);
	return marks && stack ? 0 : -ENOMEM;
}
