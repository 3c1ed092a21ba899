/* SPDX-License-Identifier: Apache-2.0 */
/* model/thinning: fewer blocks in less memory, with the same estimates; see model.h. */
#include <stdlib.h>

#include "model/heap_state.h"

/* Doubles the block's weight, or drops it. */
static void reweigh(struct totals *t, struct clusters_row *windows, const struct block *b, bool kept)
{
	struct block was = *b;
	block_ends(t, windows, &was);
	if (!kept)
		return;
	was.weight *= 2;
	block_begins(t, windows, &was);
}

struct thinning {
	struct heap *heap;
	uint64_t (*coin)(void *ctx);
	void *ctx;
};

static bool is_kept(void *ctx, const struct map_slot *s)
{
	const struct thinning *t = ctx;
	struct heap *h = t->heap;
	struct block *b = &h->blocks[s->value];
	bool kept = t->coin(t->ctx) & 1;
	reweigh(&h->rows[b->row].t, heap_clusters_of(h, b->row), b, kept);
	reweigh(&h->all, NULL, b, kept);
	if (kept) {
		b->weight *= 2;
	} else {
		heap_give_block(h, s->value);
		h->facts.thinned++;
	}
	return kept;
}

/* A bitmap of the first n blocks that are in use; NULL: out of memory. */
static uint8_t *used_blocks(const struct heap *h, size_t n)
{
	uint8_t *used = calloc(n / 8 + 1, 1);
	for (size_t p = 0; used && p < h->procs_cnt; p++) {
		const struct map_slot *s;
		for (size_t i = 0; (s = map_next(&h->procs[p].live, &i));) {
			if (s->value < n)
				used[s->value / 8] |= (uint8_t)(1u << s->value % 8);
		}
	}
	return used;
}

static void move_down(struct heap *h, struct map *live, size_t n, const uint8_t *used, size_t *gap)
{
	const struct map_slot *s;
	for (size_t i = 0; (s = map_next(live, &i));) {
		if (s->value < n)
			continue;
		while (used[*gap / 8] >> *gap % 8 & 1)
			++*gap;
		h->blocks[*gap] = h->blocks[s->value];
		*map_get(live, s->key) = (*gap)++;
	}
}

/* Moves the last blocks into the gaps. Memory is scarce at this point: without room for the bitmap, gaps are left. */
static void close_gaps(struct heap *h)
{
	size_t n = 0, gap = 0;
	for (size_t i = 0; i < h->procs_cnt; i++)
		n += h->procs[i].live.count;
	uint8_t *used = n + n / 8 < h->blocks_cnt ? used_blocks(h, n) : NULL;
	if (!used)
		return;
	for (size_t p = 0; p < h->procs_cnt; p++)
		move_down(h, &h->procs[p].live, n, used, &gap);
	free(used);
	h->blocks_cnt = n;
	h->free_head = 0;
	struct block *fewer = realloc(h->blocks, (n + 1) * sizeof(*fewer));
	if (!fewer)
		return;
	h->blocks = fewer;
	h->blocks_cap = n + 1;
}

void heap_thin(struct heap *h, uint64_t (*coin)(void *ctx), void *ctx)
{
	struct thinning t = { .heap = h, .coin = coin, .ctx = ctx };
	for (size_t i = 0; i < h->procs_cnt; i++)
		map_keep(&h->procs[i].live, is_kept, &t);
	close_gaps(h);
}
