/* SPDX-License-Identifier: Apache-2.0 */
/* glibc/sums: see sums.h. */
#include "glibc/sums.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/vec.h"

#define SMALLEST 32
#define SIZE_EXACT_MAX 1032
#define FREE_HEADER 48 /* of a free chunk: words that malloc needs when it gives back the rest */

static uint64_t whole_pages(uint64_t n)
{
	return n & ~(PAGE_BYTES - 1);
}

/* --- what malloc_trim would give back --------------------------------------------------------------- */

/* It makes one of neighbours first, those in fastbins included. */
static bool joins(const struct glibc_chunk *c)
{
	return c->state == CHUNK_FASTBIN || c->state == CHUNK_UNSORTED || c->state == CHUNK_SMALL || c->state == CHUNK_LARGE ||
	       c->state == CHUNK_FREE;
}

static uint64_t trim_run(struct pages *pages, uint64_t start, uint64_t end)
{
	uint64_t from = whole_pages(start + FREE_HEADER + PAGE_BYTES - 1);
	return from < end ? pages_resident(pages, from, from + whole_pages(end - from)) : 0;
}

/* Only the main arena's top is cut, in whole pages from its end. */
static uint64_t trim_top(struct pages *pages, uint64_t start, uint64_t end)
{
	uint64_t room = end - start;
	return room > SMALLEST + 1 ? pages_resident(pages, end - whole_pages(room - SMALLEST - 1), end) : 0;
}

static uint64_t trimmable(const struct glibc_heap *h, const struct glibc_piece *p, struct pages *pages)
{
	uint64_t sum = 0;
	for (size_t i = p->first; i < p->first + p->cnt;) {
		const struct glibc_chunk *c = &h->chunks[i++];
		uint64_t start = c->addr, end = c->addr + c->size;
		if (!joins(c) && c->state != CHUNK_TOP)
			continue;
		for (; c->state != CHUNK_TOP && i < p->first + p->cnt && joins(&h->chunks[i]); i++)
			end += h->chunks[i].size;
		const struct glibc_chunk *last = c->state == CHUNK_TOP || i == p->first + p->cnt ? c : &h->chunks[i];
		bool top = last->state == CHUNK_TOP;
		if (top && last != c) {
			end += last->size;
			i++;
		}
		if (!top)
			sum += trim_run(pages, start, end);
		else if (!p->arena)
			sum += trim_top(pages, start, end);
	}
	return sum;
}

/* --- sums ----------------------------------------------------------------------------------------- */

static void add(struct glibc_sum *s, uint64_t start, uint64_t end, struct pages *pages)
{
	s->cnt++;
	s->bytes += end - start;
	s->resident += pages ? pages_resident(pages, start, end) : 0;
}

void glibc_sums_take(const struct glibc_heap *h, uint32_t arena, struct pages *pages, struct glibc_sums *out)
{
	*out = (struct glibc_sums){ 0 };
	for (size_t n = 0; n < h->pieces_cnt; n++) {
		const struct glibc_piece *p = &h->pieces[n];
		if (arena != ALL_ARENAS && p->arena != arena)
			continue;
		for (size_t i = p->first; i < p->first + p->cnt; i++) {
			const struct glibc_chunk *c = &h->chunks[i];
			add(&out->of[c->state], c->addr, c->addr + c->size, pages);
		}
		out->trimmable += pages ? trimmable(h, p, pages) : 0;
	}
	for (size_t i = 0; i < h->arenas_cnt; i++)
		out->arena_bytes += arena == ALL_ARENAS || arena == i ? h->arenas[i].system_bytes : 0;
	for (size_t i = 0; arena == ALL_ARENAS && i < h->mapped_cnt; i++)
		add(&out->mapped, h->mapped[i].start, h->mapped[i].chunk.addr + h->mapped[i].chunk.size, pages);
}

uint64_t glibc_sums_free(const struct glibc_sums *s)
{
	uint64_t sum = 0;
	for (int i = CHUNK_TCACHE; i < CHUNK_STATES; i++)
		sum += i == CHUNK_FENCE ? 0 : s->of[i].bytes;
	return sum;
}

/* --- by size -------------------------------------------------------------------------------------- */

uint64_t glibc_size_class(uint64_t usable)
{
	return usable <= SIZE_EXACT_MAX ? usable : 1ull << (63 - __builtin_clzll(usable));
}

void glibc_size_text(uint64_t size, struct buf *out)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB" };
	unsigned unit = 0;
	if (size <= SIZE_EXACT_MAX && size != 1024) {
		buf_addf(out, "%" PRIu64 " bytes", size);
		return;
	}
	for (size >>= 10; size >= 1024 && unit < 3; size >>= 10)
		unit++;
	buf_addf(out, "%" PRIu64 " to %" PRIu64 " %s", size, 2 * size, units[unit]);
}

static struct glibc_size *row_of(struct glibc_sizes *out, struct map *rows, uint64_t size, bool mapped)
{
	uint64_t *row = map_put(rows, size << 1 | mapped);
	if (row && *row)
		return &out->all[*row - 1];
	struct glibc_size *slot = row ? VEC_PUSH(out, all) : NULL;
	if (!slot)
		return NULL;
	*row = out->all_cnt;
	slot->size = size;
	slot->mapped = mapped;
	return slot;
}

static int count_size(struct glibc_sizes *out, struct map *rows, const struct glibc_chunk *c, uint64_t bytes, bool mapped)
{
	struct glibc_size *row;
	if (c->state == CHUNK_TOP || c->state == CHUNK_FENCE)
		return 0;
	row = row_of(out, rows, glibc_size_class(glibc_usable(c) - (mapped ? CHUNK_OVERHEAD : 0)), mapped);
	if (!row)
		return -ENOMEM;
	row->cnt[c->state]++;
	if (c->state == CHUNK_USED)
		row->used_bytes += bytes;
	else
		row->free_bytes += bytes;
	return 0;
}

static int by_size(const void *a, const void *b)
{
	const struct glibc_size *x = a, *y = b;
	if (x->mapped != y->mapped)
		return x->mapped - y->mapped;
	return x->size < y->size ? -1 : x->size > y->size;
}

int glibc_sizes_take(const struct glibc_heap *h, struct glibc_sizes *out)
{
	struct map rows = { 0 };
	int rc = 0;
	*out = (struct glibc_sizes){ 0 };
	for (size_t i = 0; i < h->chunks_cnt && !rc; i++)
		rc = count_size(out, &rows, &h->chunks[i], h->chunks[i].size, false);
	for (size_t i = 0; i < h->mapped_cnt && !rc; i++) {
		const struct glibc_mapped *m = &h->mapped[i];
		rc = count_size(out, &rows, &m->chunk, m->chunk.addr + m->chunk.size - m->start, true);
	}
	map_free(&rows);
	if (out->all_cnt && !rc)
		qsort(out->all, out->all_cnt, sizeof(*out->all), by_size);
	if (rc)
		free(out->all);
	return rc;
}
