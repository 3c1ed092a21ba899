/* SPDX-License-Identifier: Apache-2.0 */
/* mallocview/malloc_copy: see malloc_copy.h. */
#include "mallocview/malloc_copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "access/pages.h"
#include "base/clock.h"
#include "base/sorted.h"
#include "base/vec.h"
#include "heapreader/heap_worker.h"
#include "heapview/objects.h"

#define GAP_MAX PAGE_BYTES /* between blocks that are read at once */
#define PIECES_MAX 64      /* of one reading */
#define BYTES_PER_NS 1     /* at least, that are copied */

struct copying {
	struct malloc_copy *out;
	struct memory *m;
	struct pages *pages;
	uint64_t deadline_ns;
};

/* --- which blocks ----------------------------------------------------------------------------------- */

static uint64_t block_end(const struct copied_block *b)
{
	return b->addr + b->bytes;
}

/* A reading of a heap that changed, or of a damaged one, may have chunks twice, or out of order. */
static int add_block(struct malloc_copy *c, const struct glibc_chunk *chunk, uint64_t unused)
{
	uint64_t addr = chunk->addr + CHUNK_HEADER, usable = glibc_usable(chunk);
	uint64_t bytes = usable > unused ? (usable - unused) & ~7ull : 0;
	uint64_t behind = c->blocks_cnt ? block_end(&c->blocks[c->blocks_cnt - 1]) : 0;
	if (chunk->state != CHUNK_USED || !bytes || addr < behind || addr + bytes < addr)
		return 0;
	struct copied_block *b = VEC_PUSH(c, blocks);
	if (!b)
		return -ENOMEM;
	*b = (struct copied_block){ .addr = addr, .bytes = bytes };
	return 0;
}

/* Both kinds are in order. */
static int list_blocks(struct malloc_copy *c, const struct glibc_heap *h)
{
	int rc = 0;
	for (size_t i = 0, k = 0; (i < h->chunks_cnt || k < h->mapped_cnt) && !rc;) {
		bool mapped = i == h->chunks_cnt || (k < h->mapped_cnt && h->mapped[k].chunk.addr < h->chunks[i].addr);
		rc = mapped ? add_block(c, &h->mapped[k].chunk, CHUNK_OVERHEAD) : add_block(c, &h->chunks[i], 0);
		k += mapped;
		i += !mapped;
	}
	return rc;
}

size_t malloc_copy_find(const struct malloc_copy *c, uint64_t addr)
{
	size_t n = SORTED_UNTIL(c->blocks_cnt, i, c->blocks[i].addr <= addr);
	return n && addr - c->blocks[n - 1].addr < c->blocks[n - 1].bytes ? n - 1 : c->blocks_cnt;
}

/* --- what they contain ------------------------------------------------------------------------------ */

/* The blocks from first on that are read at once: the index behind the last one. */
static size_t run_end(const struct malloc_copy *c, size_t first)
{
	size_t i = first + 1;
	while (i < c->blocks_cnt && c->blocks[i].addr - block_end(&c->blocks[i - 1]) <= GAP_MAX)
		i++;
	return i;
}

static int make_room(struct malloc_copy *c, uint64_t max)
{
	for (size_t i = 0, end; i < c->blocks_cnt; i = end) {
		end = run_end(c, i);
		uint64_t start = c->blocks[i].addr;
		for (size_t k = i; k < end; k++)
			c->blocks[k].at = c->bytes_cnt + (c->blocks[k].addr - start);
		c->bytes_cnt += block_end(&c->blocks[end - 1]) - start;
		if (c->bytes_cnt > max)
			return -EFBIG;
	}
	if (!c->bytes_cnt)
		return 0;
	void *at = mmap(NULL, c->bytes_cnt, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	c->bytes = at == MAP_FAILED ? NULL : at;
	return c->bytes ? 0 : -ENOMEM;
}

static int copy_run(struct copying *c, const struct copied_block *first, const struct copied_block *last)
{
	uint64_t end = block_end(last);
	uint8_t *out = c->out->bytes + first->at;
	int rc = 0;
	for (uint64_t at = first->addr; at < end && !rc;) {
		struct rights_range used[PIECES_MAX];
		uint64_t part_end = end - at < MEMORY_SPREAD ? end : at + MEMORY_SPREAD;
		size_t n = pages_used(c->pages, &at, part_end, used, PIECES_MAX), gone = 0;
		if (words_late(c->deadline_ns))
			return -ETIMEDOUT;
		if (n)
			rc = memory_read_spread(c->m, used, n, first->addr, out, &gone);
		c->out->unreadable += gone;
	}
	return rc;
}

/* Better not stopped at all than for nothing. */
static bool is_hopeless(const struct copying *c)
{
	uint64_t now = now_ns();
	return c->deadline_ns && now + c->out->bytes_cnt / BYTES_PER_NS > c->deadline_ns;
}

static int copy_blocks(struct copying *c)
{
	const struct malloc_copy *out = c->out;
	int rc = is_hopeless(c) ? -ETIMEDOUT : 0;
	for (size_t i = 0, end; i < out->blocks_cnt && !rc; i = end) {
		end = run_end(out, i);
		rc = copy_run(c, &out->blocks[i], &out->blocks[end - 1]);
	}
	return rc;
}

/* --- the roots -------------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
	const struct root_exclude *x = a, *y = b;
	return (x->start > y->start) - (x->start < y->start);
}

/* Where chunks lie, free ones too: by address. *cnt of them; NULL: out of memory. */
static struct root_exclude *heap_ranges(const struct glibc_heap *h, size_t *cnt)
{
	struct root_exclude *all = malloc((h->pieces_cnt + h->mapped_cnt + 1) * sizeof(*all));
	size_t n = 0, kept = 0;
	if (!all)
		return NULL;
	for (size_t i = 0; i < h->pieces_cnt; i++)
		all[n++] = (struct root_exclude){ h->pieces[i].start, h->pieces[i].end };
	for (size_t i = 0; i < h->mapped_cnt; i++)
		all[n++] = (struct root_exclude){ h->mapped[i].start, h->mapped[i].chunk.addr + h->mapped[i].chunk.size };
	qsort(all, n, sizeof(*all), by_start);
	for (size_t i = 0; i < n; i++) {
		if (all[i].start < all[i].end && (!kept || all[kept - 1].end <= all[i].start))
			all[kept++] = all[i];
	}
	*cnt = kept;
	return all;
}

static int copy_roots(struct copying *c, const struct malloc_reading *r, const struct threads *t, uint64_t max)
{
	static const struct words no_words;
	static const struct boehm_heap no_collector;
	struct root_plan plan = { .space = &r->process.space, .threads = t->list, .threads_cnt = t->list_cnt, .max = max };
	struct root_exclude *heap = heap_ranges(&r->heap, &plan.heap_cnt);
	plan.heap = heap;
	int rc = heap ? roots_begin(&c->out->roots, &plan) : -ENOMEM;
	rc = rc ?: roots_copy(&c->out->roots, c->m, &plan, &no_words, &no_collector, c->deadline_ns);
	free(heap);
	return rc;
}

/* --- both ------------------------------------------------------------------------------------------- */

int malloc_copy_look(void *ctx, struct malloc_reading *r, const struct threads *t, struct err *err)
{
	static struct pages pages; /* too large for a stack */
	struct malloc_copy *out = ctx;
	struct memory *m = &r->process.memory;
	struct copying c = { out, m, &pages, threads_deadline(t) };
	uint64_t max = worker_memory() / 2;
	malloc_copy_free(out);
	pages_open(&pages, m->through ?: m->tgid);
	int rc = list_blocks(out, &r->heap);
	rc = rc ?: make_room(out, max);
	rc = rc ?: copy_blocks(&c);
	rc = rc ?: copy_roots(&c, r, t, max);
	pages_close(&pages);
	return rc ? objects_unread(m->tgid, rc, err) : 0;
}

void malloc_copy_free(struct malloc_copy *c)
{
	if (c->bytes)
		munmap(c->bytes, c->bytes_cnt);
	free(c->blocks);
	roots_free(&c->roots);
	*c = (struct malloc_copy){ 0 };
}
