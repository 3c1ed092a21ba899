/* SPDX-License-Identifier: Apache-2.0 */
/*
 * catalog/store: the memory of the catalog, private to this module. Rows never move and live until store_free, which
 * makes borrowed pointers safe; each text is stored once.
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
	uint64_t bytes;             /* total size of the blocks */
};

/* Rows under a 64-bit key, iterated in order of arrival. Ids may be sparse: an input file can contain any. */
struct table {
	struct map index; /* key -> index in rows */
	void **rows;
	size_t rows_cnt, rows_cap;
};

void *store_take(struct store *s, size_t n); /* zeroed; NULL when out of memory */
const char *store_text(struct store *s, const char *text);
const char *store_known_text(const struct store *s, const char *text); /* NULL when never stored */
void store_free(struct store *s);

/* The row of the key; n zero bytes if it is new. */
void *table_put(struct table *t, struct store *s, uint64_t key, size_t n);
void *table_get(const struct table *t, uint64_t key);
void *table_next(const struct table *t, size_t *i);
uint64_t table_memory(const struct table *t);
void table_free(struct table *t);

#endif
