/* SPDX-License-Identifier: Apache-2.0 */
/* heapgraph/accounts: blocks by size class, and blocks that few objects keep in use; see census.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/vec.h"
#include "heapgraph/census.h"

#define SPARSE 4 /* blocks less than a quarter live */

/* Large objects have a block each: all together count as one class. */
static struct size_class *class_of(struct accounts *a, struct map *places, const struct heap_block *b)
{
	uint64_t size = b->objects == 1 ? 0 : b->size, *place = map_put(places, size << 8 | b->kind);
	if (place && !*place && VEC_PUSH(a, classes)) {
		*place = a->classes_cnt;
		a->classes[*place - 1] = (struct size_class){ .size = size, .kind = b->kind };
	}
	return place && *place ? &a->classes[*place - 1] : NULL;
}

static int by_kind(const void *a, const void *b)
{
	const struct size_class *x = a, *y = b;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	/* Large objects (size 0) last. */
	return x->size - 1 < y->size - 1 ? -1 : x->size - 1 > y->size - 1;
}

int accounts_take(const struct boehm_heap *h, struct accounts *out)
{
	struct map places = { 0 };
	*out = (struct accounts){ 0 };
	for (size_t i = 0; i < h->blocks_cnt; i++) {
		const struct heap_block *b = &h->blocks[i];
		struct size_class *c = class_of(out, &places, b);
		if (!c) {
			map_free(&places);
			accounts_free(out);
			return -ENOMEM;
		}
		c->blocks++;
		c->block_bytes += b->bytes;
		c->slots += b->objects;
		c->live += b->live;
		c->live_bytes += b->live * b->size;
		c->sparse_blocks += b->objects > 1 && b->live * SPARSE < b->objects;
		out->live_bytes += b->live * b->size;
		out->slack_bytes += b->bytes - b->live * b->size;
	}
	for (size_t i = 0; i < h->gaps_cnt; i++)
		out->largest_gap = h->gaps[i].bytes > out->largest_gap ? h->gaps[i].bytes : out->largest_gap;
	map_free(&places);
	qsort(out->classes, out->classes_cnt, sizeof(*out->classes), by_kind);
	return 0;
}

void accounts_free(struct accounts *a)
{
	free(a->classes);
	*a = (struct accounts){ 0 };
}

static int by_live(const void *a, const void *b, void *heap)
{
	const struct boehm_heap *h = heap;
	const struct heap_block *x = &h->blocks[*(const uint32_t *)a], *y = &h->blocks[*(const uint32_t *)b];
	if (x->live != y->live)
		return x->live < y->live ? -1 : 1;
	return x->addr < y->addr ? -1 : 1;
}

size_t accounts_pinned(const struct boehm_heap *h, double share, uint32_t **out)
{
	size_t n = 0;
	*out = calloc(h->blocks_cnt + 1, sizeof(**out));
	for (size_t i = 0; *out && i < h->blocks_cnt; i++) {
		const struct heap_block *b = &h->blocks[i];
		if (b->objects > 1 && b->live && b->live <= share * b->objects)
			(*out)[n++] = (uint32_t)i;
	}
	if (n)
		qsort_r(*out, n, sizeof(**out), by_live, (void *)h);
	return n;
}
