/* SPDX-License-Identifier: Apache-2.0 */
/* marking/heap_copy: see heap_copy.h. */
#include "marking/heap_copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/sorted.h"

#define FIRST 16

struct heap_copy {
	struct memory_source source;
	struct rights_range *ranges; /* sorted by address, disjoint */
	size_t *at;                  /* offset of each range in bytes */
	size_t ranges_cnt, bytes_cnt;
	uint8_t *bytes;
};

static int by_address(const void *a, const void *b)
{
	const struct rights_range *x = a, *y = b;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int64_t read_copy(void *ctx, uint64_t addr, void *out, size_t n)
{
	const struct heap_copy *i = ctx;
	size_t low = SORTED_UNTIL(i->ranges_cnt, k, i->ranges[k].addr <= addr);
	const struct rights_range *r = low ? &i->ranges[low - 1] : NULL;
	if (!r || addr - r->addr >= r->n)
		return -EFAULT;
	uint64_t from = addr - r->addr;
	n = n < r->n - from ? n : r->n - from;
	memcpy(out, i->bytes + i->at[low - 1] + from, n);
	return (int64_t)n;
}

/* Of a large object without pointers only the start, which holds its type. */
static uint64_t wanted(const struct heap_block *b)
{
	return b->objects > 1 || b->kind != HEAP_ATOMIC ? b->bytes : FIRST;
}

static void place_ranges(struct heap_copy *i)
{
	for (size_t r = 0, at = 0; r < i->ranges_cnt; at += i->ranges[r++].n)
		i->at[r] = at;
}

/* False: it would take more than max bytes. */
static bool plan(struct heap_copy *i, const struct boehm_heap *h, const struct rights_range *variables, size_t cnt, size_t max)
{
	for (size_t v = 0; v < cnt; v++)
		i->ranges[i->ranges_cnt++] = variables[v];
	for (size_t b = 0; b < h->blocks_cnt; b++)
		i->ranges[i->ranges_cnt++] = (struct rights_range){ h->blocks[b].addr, wanted(&h->blocks[b]) };
	for (size_t r = 0; r < i->ranges_cnt; r++) {
		if (i->ranges[r].n > max - i->bytes_cnt)
			return false;
		i->bytes_cnt += i->ranges[r].n;
	}
	if (i->ranges_cnt)
		qsort(i->ranges, i->ranges_cnt, sizeof(*i->ranges), by_address);
	place_ranges(i);
	return true;
}

static struct heap_copy *with_room(size_t ranges)
{
	struct heap_copy *i = calloc(1, sizeof(*i));
	if (!i)
		return NULL;
	i->source = (struct memory_source){ read_copy, i };
	i->ranges = calloc(ranges + 1, sizeof(*i->ranges));
	i->at = calloc(ranges + 1, sizeof(*i->at));
	if (i->ranges && i->at)
		return i;
	heap_copy_free(i);
	return NULL;
}

int heap_copy_new(struct memory *m, const struct boehm_heap *h, const struct rights_range *variables, size_t cnt, size_t max,
		  struct heap_copy **out)
{
	struct heap_copy *i = with_room(h->blocks_cnt + cnt);
	int rc = i ? 0 : -ENOMEM;
	*out = NULL;
	bool fits = !rc && plan(i, h, variables, cnt, max);
	if (fits) {
		i->bytes = malloc(i->bytes_cnt + 1);
		rc = i->bytes ? memory_read_ranges(m, i->ranges, i->ranges_cnt, i->bytes, NULL) : -ENOMEM;
	}
	if (fits && !rc)
		*out = i;
	else
		heap_copy_free(i);
	return rc;
}

void heap_copy_free(struct heap_copy *i)
{
	if (!i)
		return;
	free(i->ranges);
	free(i->at);
	free(i->bytes);
	free(i);
}

const struct memory_source *heap_copy_source(const struct heap_copy *i)
{
	return &i->source;
}

void heap_copy_put(const struct heap_copy *i, struct buf *out)
{
	buf_room(out, sizeof(uint64_t) + i->ranges_cnt * sizeof(*i->ranges) + i->bytes_cnt);
	buf_le(out, i->ranges_cnt, 8);
	buf_add(out, i->ranges, i->ranges_cnt * sizeof(*i->ranges));
	buf_add(out, i->bytes, i->bytes_cnt);
}

/* False: the ranges do not add up to this many bytes. */
static bool are_ranges(struct heap_copy *i, size_t bytes)
{
	for (size_t r = 0; r < i->ranges_cnt; r++) {
		if (i->ranges[r].n > bytes - i->bytes_cnt)
			return false;
		i->bytes_cnt += i->ranges[r].n;
	}
	place_ranges(i);
	return i->bytes_cnt == bytes;
}

int heap_copy_take(const void *bytes, size_t n, struct heap_copy **out)
{
	struct cursor c = cursor_over(bytes, n);
	uint64_t cnt = cursor_le(&c, 8);
	*out = NULL;
	if (cnt > cursor_left(&c) / sizeof(struct rights_range))
		return -EBADMSG;
	const void *ranges = cursor_bytes(&c, cnt * sizeof(struct rights_range));
	struct heap_copy *i = with_room(cnt);
	if (!i)
		return -ENOMEM;
	i->ranges_cnt = cnt;
	memcpy(i->ranges, ranges, cnt * sizeof(*i->ranges));
	size_t left = cursor_left(&c);
	int rc = are_ranges(i, left) ? 0 : -EBADMSG;
	if (!rc)
		i->bytes = malloc(left + 1);
	if (!rc && i->bytes)
		memcpy(i->bytes, cursor_bytes(&c, left), left);
	rc = rc ?: i->bytes ? 0 : -ENOMEM;
	if (rc)
		heap_copy_free(i);
	else
		*out = i;
	return rc;
}
