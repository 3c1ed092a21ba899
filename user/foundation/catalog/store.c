/* SPDX-License-Identifier: Apache-2.0 */
/* catalog/store: see store.h. */
#include "catalog/store.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define BLOCK_SZ (64 * 1024)

struct store_block {
	struct store_block *next;
	size_t used, cap;
	max_align_t bytes[];
};

struct store_text {
	struct store_text *next; /* next text with the same hash */
	char text[];
};

static struct store_block *add_block(struct store *s, size_t n)
{
	size_t cap = n > BLOCK_SZ ? n : BLOCK_SZ;
	struct store_block *b = calloc(1, sizeof(*b) + cap);
	if (!b)
		return NULL;
	b->cap = cap;
	b->next = s->blocks;
	s->blocks = b;
	s->bytes += sizeof(*b) + cap;
	return b;
}

void *store_take(struct store *s, size_t n)
{
	n = (n + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1);
	struct store_block *b = s->blocks;
	if (!b || b->cap - b->used < n)
		b = add_block(s, n);
	if (!b)
		return NULL;
	void *at = (char *)b->bytes + b->used;
	b->used += n;
	return at;
}

/* FNV-1a. */
static uint64_t hash_of(const char *text)
{
	uint64_t h = 0xcbf29ce484222325ull;
	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 0x100000001b3ull;
	return h;
}

static const struct store_text *in_chain(const uint64_t *head, const char *text)
{
	const struct store_text *t = head ? (const struct store_text *)(uintptr_t)*head : NULL;
	while (t && strcmp(t->text, text) != 0)
		t = t->next;
	return t;
}

const char *store_known_text(const struct store *s, const char *text)
{
	const struct store_text *t = in_chain(map_get(&s->texts, hash_of(text)), text);
	return t ? t->text : NULL;
}

const char *store_text(struct store *s, const char *text)
{
	uint64_t *head = map_put(&s->texts, hash_of(text));
	if (!head)
		return NULL;
	const struct store_text *known = in_chain(head, text);
	if (known)
		return known->text;
	size_t n = strlen(text) + 1;
	struct store_text *t = store_take(s, sizeof(*t) + n);
	if (!t)
		return NULL;
	memcpy(t->text, text, n);
	t->next = (struct store_text *)(uintptr_t)*head;
	*head = (uintptr_t)t;
	return t->text;
}

void store_free(struct store *s)
{
	while (s->blocks) {
		struct store_block *next = s->blocks->next;
		free(s->blocks);
		s->blocks = next;
	}
	map_free(&s->texts);
}

void *table_get(const struct table *t, uint64_t key)
{
	const uint64_t *place = map_get(&t->index, key);
	return place ? t->rows[*place] : NULL;
}

void *table_put(struct table *t, struct store *s, uint64_t key, size_t n)
{
	void *known = table_get(t, key);
	if (known)
		return known;
	void *row = store_take(s, n);
	void **place = row ? VEC_PUSH(t, rows) : NULL;
	if (!place)
		return NULL;
	uint64_t *index = map_put(&t->index, key);
	if (!index) {
		t->rows_cnt--;
		return NULL;
	}
	*index = t->rows_cnt - 1;
	*place = row;
	return row;
}

void *table_next(const struct table *t, size_t *i)
{
	return *i < t->rows_cnt ? t->rows[(*i)++] : NULL;
}

uint64_t table_memory(const struct table *t)
{
	/* On average, half of an index is unused. */
	return t->rows_cnt * sizeof(*t->rows) + t->index.count * 2 * sizeof(struct map_slot);
}

void table_free(struct table *t)
{
	map_free(&t->index);
	free(t->rows);
}
