/* SPDX-License-Identifier: Apache-2.0 */
/*
 * catalog/store: the memory under the catalog, private to the room. Rows never move and live until
 * store_free, which is what makes borrowed pointers safe; texts are kept once.
 */
#ifndef ALYS_CATALOG_STORE_H
#define ALYS_CATALOG_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct store_block;

struct store {
	struct store_block *blocks; /* newest first; the newest has room */
	struct map texts;           /* hash of a text -> struct store_text */
	uint64_t bytes;             /* of the blocks */
};

/* Rows under a 64-bit key, walked in order of arrival. Ids may be sparse: a file can claim any. */
struct table {
	struct map index; /* key -> place in rows */
	void **rows;
	size_t rows_cnt, rows_cap;
};

void *store_take(struct store *s, size_t n); /* zeroed; NULL when memory is out */
const char *store_text(struct store *s, const char *text);
const char *store_known_text(const struct store *s, const char *text); /* NULL when never stored */
void store_free(struct store *s);

/* The row of the key, made of n zero bytes when new. */
void *table_put(struct table *t, struct store *s, uint64_t key, size_t n);
void *table_get(const struct table *t, uint64_t key);
void *table_next(const struct table *t, size_t *i);
uint64_t table_memory(const struct table *t);
void table_free(struct table *t);

#endif
