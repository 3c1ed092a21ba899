/* boehm/census: see census.h. */
#include "boehm/census.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"

#define UNKNOWN_MAX 16384  /* ids of classes when nobody says how many there are */
#define STRING_HEADER 12   /* id, bytes, characters, of four bytes each */
#define STRING_SLACK 4096  /* a string that shrank may keep its slot */

/* --- which ids can be ids ----------------------------------------------------------------------- */

/* Of all objects that begin with one id: how many have this size and kind. */
struct shape {
	uint32_t id;
	uint64_t size;
	uint8_t kind;
	uint64_t cnt;
};

struct shapes {
	struct shape *list;
	size_t list_cnt, list_cap;
	struct map places; /* shape_key -> place in list */
	struct map best;   /* id -> place in list */
};

/* Apart for all ids and sizes that programs have; should two shapes meet, they are counted as one. */
static uint64_t shape_key(uint32_t id, uint64_t size, uint8_t kind)
{
	return (uint64_t)id << 42 ^ size << 2 ^ (kind & 3);
}

static bool may_be_id(const struct types *t, uint32_t id)
{
	return id && id != TYPE_ID_STRING && id <= (t->reference_max ? t->reference_max : UNKNOWN_MAX);
}

static bool is_string(const struct heap_block *b, uint64_t word)
{
	uint64_t bytes = STRING_HEADER + (word >> 32) + 1;
	return (uint32_t)word == TYPE_ID_STRING && b->kind == HEAP_ATOMIC && bytes <= b->size &&
	       b->size <= 2 * bytes + STRING_SLACK;
}

static int count_shape(struct shapes *s, uint32_t id, const struct heap_block *b)
{
	uint64_t *place = map_put(&s->places, shape_key(id, b->size, b->kind));
	if (!place)
		return -ENOMEM;
	if (!*place) {
		struct shape *n = VEC_PUSH(s, list);
		if (!n)
			return -ENOMEM;
		*n = (struct shape){ .id = id, .size = b->size, .kind = b->kind };
		*place = s->list_cnt;
	}
	s->list[*place - 1].cnt++;
	return 0;
}

/* Of two as common ones the smaller: buffers grow, objects do not. */
static int choose_shapes(struct shapes *s)
{
	for (size_t i = 0; i < s->list_cnt; i++) {
		const struct shape *n = &s->list[i];
		uint64_t *best = map_put(&s->best, n->id);
		if (!best)
			return -ENOMEM;
		const struct shape *old = *best ? &s->list[*best - 1] : NULL;
		if (!old || n->cnt > old->cnt || (n->cnt == old->cnt && n->size < old->size))
			*best = i + 1;
	}
	return 0;
}

static bool is_best(const struct shapes *s, uint32_t id, const struct heap_block *b)
{
	const uint64_t *place = map_get(&s->best, id);
	const struct shape *best = place ? &s->list[*place - 1] : NULL;
	/* One large object with a small number in front is a buffer rather than a class' only instance. */
	if (best && best->cnt == 1 && best->size > BOEHM_BLOCK / 2)
		return false;
	return best && best->kind == b->kind && types_cells_alike(best->size, b->size);
}

static void free_shapes(struct shapes *s)
{
	free(s->list);
	map_free(&s->places);
	map_free(&s->best);
}

/* --- a type an object --------------------------------------------------------------------------- */

struct taking {
	const struct boehm_heap *h;
	const struct types *types;
	const uint64_t *words;
	bool without_types;
	struct map generic; /* ids of types that have no instances: those of Array(T), not of Array(Int32) */
	struct shapes shapes;
	struct map rows; /* id -> place in census.types + 1 */
	struct census *out;
};

static int count_shapes(struct taking *k)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < k->h->blocks_cnt; i++) {
		const struct heap_block *b = &k->h->blocks[i];
		for (size_t at = b->marks; !rc && b->live && at < b->marks + b->objects; at++) {
			uint32_t id = (uint32_t)k->words[at];
			if (k->h->marks[at] && may_be_id(k->types, id) && !map_get(&k->generic, id))
				rc = count_shape(&k->shapes, id, b);
		}
	}
	return rc ?: choose_shapes(&k->shapes);
}

static uint32_t id_of(const struct taking *k, const struct heap_block *b, size_t at)
{
	uint64_t word = k->words[at];
	uint32_t plain = b->kind == HEAP_ATOMIC || b->kind == HEAP_ATOMIC_UNCOLLECTABLE ? CENSUS_DATA : CENSUS_BUFFER;
	if (k->without_types)
		return plain;
	if (is_string(b, word))
		return TYPE_ID_STRING;
	if (!may_be_id(k->types, (uint32_t)word) || map_get(&k->generic, (uint32_t)word))
		return plain;
	if (is_best(&k->shapes, (uint32_t)word, b))
		return (uint32_t)word;
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

int census_take(const struct boehm_heap *h, const uint64_t *words, const struct types *t, bool without_types,
		struct census *out, struct err *err)
{
	*out = (struct census){ .ids = calloc(h->marks_cnt + 1, sizeof(*out->ids)) };
	struct taking k = { .h = h, .types = t, .words = words, .without_types = without_types, .out = out };
	int rc = out->ids ? 0 : -ENOMEM;
	if (!rc && !without_types)
		rc = types_generic(t, &k.generic);
	if (!rc && !without_types)
		rc = count_shapes(&k);
	if (!rc)
		rc = assign(&k);
	free_shapes(&k.shapes);
	map_free(&k.generic);
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
