/* SPDX-License-Identifier: Apache-2.0 */
/* heapgraph/census: see census.h. */
#include "heapgraph/census.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "boehm/strings.h"
#include "heapgraph/shapes.h"

struct taking {
	const struct boehm_heap *h;
	const uint64_t *words;
	bool without_types;
	struct shapes shapes;
	struct map rows; /* type id -> index in census.types + 1 */
	struct census *out;
};

static int count_shapes(struct taking *k)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < k->h->blocks_cnt; i++) {
		const struct heap_block *b = &k->h->blocks[i];
		for (size_t at = b->marks; !rc && b->live && at < b->marks + b->objects; at++) {
			if (k->h->marks[at] && !is_string(k->words[at], b->size, b->kind))
				rc = shapes_count(&k->shapes, (uint32_t)k->words[at], b->size, b->kind, 1);
		}
	}
	return rc ?: shapes_settle(&k->shapes);
}

static uint32_t id_of(const struct taking *k, const struct heap_block *b, size_t at)
{
	uint64_t word = k->words[at];
	uint32_t plain = b->kind == HEAP_ATOMIC || b->kind == HEAP_ATOMIC_UNCOLLECTABLE ? CENSUS_DATA : CENSUS_BUFFER;
	if (k->without_types)
		return plain;
	if (is_string(word, b->size, b->kind))
		return TYPE_ID_STRING;
	if (!shapes_may_be(&k->shapes, (uint32_t)word))
		return plain;
	if (shapes_fit(&k->shapes, (uint32_t)word, b->size, b->kind)) {
		bool doubtful = shapes_doubtful(&k->shapes, (uint32_t)word);
		k->out->doubtful += doubtful;
		k->out->doubtful_bytes += doubtful ? b->size : 0;
		return (uint32_t)word;
	}
	k->out->doubted++;
	return plain;
}

static int add_to_row(struct taking *k, uint32_t id, const struct heap_block *b)
{
	struct census *c = k->out;
	uint64_t *place = map_put(&k->rows, id);
	struct census_type *row = place && !*place ? VEC_PUSH(c, types) : NULL;
	if (!place || (!*place && !row))
		return -ENOMEM;
	if (row) {
		*row = (struct census_type){ .id = id };
		*place = c->types_cnt;
	}
	row = &c->types[*place - 1];
	row->cnt++;
	row->bytes += b->size;
	c->cnt++;
	c->bytes += b->size;
	return 0;
}

static int assign(struct taking *k)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < k->h->blocks_cnt; i++) {
		const struct heap_block *b = &k->h->blocks[i];
		for (size_t at = b->marks; !rc && at < b->marks + b->objects; at++) {
			if (!k->h->marks[at])
				continue;
			k->out->ids[at] = id_of(k, b, at);
			rc = add_to_row(k, k->out->ids[at], b);
		}
	}
	return rc;
}

static int by_bytes(const void *a, const void *b)
{
	const struct census_type *x = a, *y = b;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x->id < y->id ? -1 : x->id > y->id;
}

int census_take(const struct boehm_heap *h, const uint64_t *words, const struct types *t, bool without_types, struct census *out,
		struct err *err)
{
	*out = (struct census){ .ids = calloc(h->marks_cnt + 1, sizeof(*out->ids)) };
	struct taking k = { .h = h, .words = words, .without_types = without_types, .out = out };
	int rc = out->ids ? 0 : -ENOMEM;
	if (!rc && !without_types)
		rc = shapes_begin(&k.shapes, t);
	if (!rc && !without_types)
		rc = count_shapes(&k);
	if (!rc)
		rc = assign(&k);
	shapes_free(&k.shapes);
	map_free(&k.rows);
	if (rc) {
		census_free(out);
		return err_set(err, ENOMEM, "out of memory");
	}
	qsort(out->types, out->types_cnt, sizeof(*out->types), by_bytes);
	return 0;
}

void census_free(struct census *c)
{
	free(c->ids);
	free(c->types);
	*c = (struct census){ 0 };
}
