/* SPDX-License-Identifier: Apache-2.0 */
/* glibc/classes: see classes.h. */
#include "glibc/classes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "glibc/rtti.h"
#include "glibc/sums.h"

#define VTABLES_MAX (1u << 17)

/* --- candidates ----------------------------------------------------------------------------------- */

struct counting {
	const struct space *space;
	struct map vtables; /* first word -> how many blocks begin with it */
	struct map rows;    /* what blocks of a row share -> index in out */
	struct glibc_classes *out;
	uint64_t low, high; /* of files' read-only data: most words are not even near */
	glibc_block_fn fn;  /* NULL: nobody wants each block */
	void *ctx;
};

static void bound(struct counting *c)
{
	c->low = UINT64_MAX;
	for (size_t i = 0; i < c->space->regions_cnt; i++) {
		const struct space_region *r = &c->space->regions[i];
		if (!rtti_may_hold(c->space, r->start))
			continue;
		c->low = r->start < c->low ? r->start : c->low;
		c->high = r->end;
	}
}

static int note(struct counting *c, const struct glibc_chunk *chunk)
{
	uint64_t w = chunk->word;
	if (chunk->state != CHUNK_USED || w < c->low || w >= c->high || c->vtables.count >= VTABLES_MAX ||
	    !rtti_may_hold(c->space, w))
		return 0;
	return map_put(&c->vtables, w) ? 0 : -ENOMEM;
}

static int note_all(struct counting *c, const struct glibc_heap *h)
{
	int rc = 0;
	bound(c);
	for (size_t i = 0; i < h->chunks_cnt && !rc; i++)
		rc = note(c, &h->chunks[i]);
	for (size_t i = 0; i < h->mapped_cnt && !rc; i++)
		rc = note(c, &h->mapped[i].chunk);
	return rc;
}

/* --- names ---------------------------------------------------------------------------------------- */

static int add_class(struct counting *c, uint64_t vtable, char *name, enum class_known known)
{
	uint64_t *row = name ? map_put(&c->rows, vtable) : NULL;
	struct glibc_class *slot = row ? VEC_PUSH(c->out, all) : NULL;
	if (!slot) {
		free(name);
		return -ENOMEM;
	}
	*row = c->out->all_cnt;
	*slot = (struct glibc_class){ .vtable = vtable, .known = known, .name = name };
	return 0;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

struct candidates {
	uint64_t *words, *infos;
	char **names;
	size_t cnt;
};

static int list(const struct counting *c, struct candidates *out)
{
	const struct map_slot *s;
	out->words = malloc((c->vtables.count + 1) * sizeof(*out->words));
	out->infos = calloc(c->vtables.count + 1, sizeof(*out->infos));
	out->names = calloc(c->vtables.count + 1, sizeof(*out->names));
	if (!out->words || !out->infos || !out->names)
		return -ENOMEM;
	for (size_t i = 0; (s = map_next(&c->vtables, &i));)
		out->words[out->cnt++] = s->key;
	qsort(out->words, out->cnt, sizeof(*out->words), by_value);
	return 0;
}

static int name_by_rtti(struct counting *c, struct memory *m, struct candidates *of)
{
	int rc = rtti_find(m, c->space, of->words, of->cnt, of->infos);
	size_t left = 0;
	for (size_t i = 0; i < of->cnt && !rc; i++) {
		struct buf name = { 0 };
		if (of->infos[i] && rtti_name(m, c->space, of->infos[i], &name))
			rc = add_class(c, of->words[i], strdup(buf_str(&name)), CLASS_BY_RTTI);
		else
			of->words[left++] = of->words[i];
		buf_free(&name);
	}
	of->cnt = left;
	return rc;
}

static int name_by_symbols(struct counting *c, const struct memory *m, struct candidates *of)
{
	int rc = rtti_by_symbols(m->tgid, c->space, of->words, of->cnt, of->names);
	for (size_t i = 0; i < of->cnt; i++) {
		if (of->names[i] && !rc)
			rc = add_class(c, of->words[i], of->names[i], CLASS_BY_SYMBOL);
		else
			free(of->names[i]);
	}
	return rc;
}

static int name_all(struct counting *c, struct memory *m)
{
	struct candidates of = { 0 };
	int rc = list(c, &of);
	rc = rc ?: name_by_rtti(c, m, &of);
	rc = rc ?: of.cnt ? name_by_symbols(c, m, &of) : 0;
	free(of.words);
	free(of.infos);
	free(of.names);
	return rc;
}

/* --- counting ------------------------------------------------------------------------------------- */

/* A key is a vtable's address, or a size made odd. */
static struct glibc_class *row_of_size(struct counting *c, uint64_t size, bool mapped)
{
	uint64_t *row = map_put(&c->rows, size << 2 | mapped << 1 | 1);
	if (row && *row)
		return &c->out->all[*row - 1];
	struct glibc_class *slot = row ? VEC_PUSH(c->out, all) : NULL;
	if (!slot)
		return NULL;
	*row = c->out->all_cnt;
	slot->size = size;
	slot->mapped = mapped;
	return slot;
}

static int count(struct counting *c, const struct glibc_chunk *chunk, bool mapped)
{
	uint64_t usable = glibc_usable(chunk) - (mapped ? CHUNK_OVERHEAD : 0);
	if (chunk->state != CHUNK_USED)
		return 0;
	bool near = chunk->word >= c->low && chunk->word < c->high && !(chunk->word & 7);
	const uint64_t *of_class = near ? map_get(&c->rows, chunk->word) : NULL;
	struct glibc_class *row = of_class ? &c->out->all[*of_class - 1] : row_of_size(c, glibc_size_class(usable), mapped);
	if (!row)
		return -ENOMEM;
	row->cnt++;
	row->bytes += usable;
	c->out->cnt++;
	c->out->bytes += usable;
	return c->fn ? c->fn(c->ctx, chunk->addr + CHUNK_HEADER, usable, (size_t)(row - c->out->all)) : 0;
}

int glibc_classes_take(struct memory *m, const struct space *s, const struct glibc_heap *h, struct glibc_classes *out)
{
	return glibc_classes_each(m, s, h, NULL, NULL, out);
}

int glibc_classes_each(struct memory *m, const struct space *s, const struct glibc_heap *h, glibc_block_fn fn, void *ctx,
		       struct glibc_classes *out)
{
	struct counting c = { .space = s, .out = out, .fn = fn, .ctx = ctx };
	*out = (struct glibc_classes){ 0 };
	int rc = note_all(&c, h);
	rc = rc ?: name_all(&c, m);
	for (size_t i = 0; i < h->chunks_cnt && !rc; i++)
		rc = count(&c, &h->chunks[i], false);
	for (size_t i = 0; i < h->mapped_cnt && !rc; i++)
		rc = count(&c, &h->mapped[i].chunk, true);
	map_free(&c.vtables);
	map_free(&c.rows);
	if (rc)
		glibc_classes_free(out);
	return rc;
}

void glibc_class_text(const struct glibc_class *c, struct buf *out)
{
	if (c->name) {
		buf_adds(out, c->name);
		return;
	}
	buf_adds(out, c->mapped ? "(mmapped, " : "(");
	glibc_size_text(c->size, out);
	buf_adds(out, ")");
}

void glibc_classes_free(struct glibc_classes *c)
{
	for (size_t i = 0; i < c->all_cnt; i++)
		free(c->all[i].name);
	free(c->all);
	*c = (struct glibc_classes){ 0 };
}
