/* SPDX-License-Identifier: Apache-2.0 */
/* marking/resurrected: see resurrected.h. */
#include "marking/resurrected.h"

#include <errno.h>

/* Swept in a cycle later than gc_no. Blocks store only 16 bits of the number, so the comparison wraps. */
static bool is_swept_after(const struct heap_block *b, uint64_t gc_no)
{
	return (int16_t)(uint16_t)(b->last_reclaimed - gc_no) > 0;
}

struct reading {
	const struct boehm_heap *heap, *last;
};

/* An object stays resurrected as long as it is marked: a sweep frees nothing that the cycle before it marked. */
static bool is_still_resurrected(void *ctx, const struct map_slot *slot)
{
	const struct reading *r = ctx;
	struct heap_object o;
	if (!boehm_heap_find(r->heap, slot->key, &o) || o.base != slot->key || !o.marked)
		return false;
	bool next = !r->heap->unnumbered && r->heap->gc_no == r->last->gc_no + 1;
	return next || !is_swept_after(&r->heap->blocks[o.block], r->last->gc_no);
}

static int note_block(struct resurrected *r, const struct boehm_heap *now, const struct heap_block *b,
		      const struct heap_block *was)
{
	const uint8_t *marks = now->marks + b->marks, *before = r->last.marks + was->marks;
	for (uint32_t i = 0; i < b->objects; i++) {
		if (marks[i] && !before[i] && !map_put(&r->objects, b->addr + i * b->size))
			return -ENOMEM;
	}
	return 0;
}

static bool is_same(const struct heap_block *a, const struct heap_block *b)
{
	return a->addr == b->addr && a->size == b->size && a->objects == b->objects && a->kind == b->kind;
}

int resurrected_note(struct resurrected *r, struct boehm_heap *h)
{
	int rc = 0;
	if (h->asked)
		return 0;
	struct reading both = { h, &r->last };
	map_keep(&r->objects, is_still_resurrected, &both);
	for (size_t now = 0, was = 0; now < h->blocks_cnt && !rc; now++) {
		const struct heap_block *b = &h->blocks[now];
		while (was < r->last.blocks_cnt && r->last.blocks[was].addr < b->addr)
			was++;
		if (was < r->last.blocks_cnt && is_same(b, &r->last.blocks[was]) && !is_swept_after(b, r->last.gc_no - 1))
			rc = note_block(r, h, b, &r->last.blocks[was]);
	}
	boehm_heap_free(&r->last);
	r->last = *h;
	*h = (struct boehm_heap){ 0 };
	return rc;
}

void resurrected_free(struct resurrected *r)
{
	map_free(&r->objects);
	boehm_heap_free(&r->last);
}
