/* SPDX-License-Identifier: Apache-2.0 */
/* marking/wire: see wire.h. Sender and receiver are the same program, so structs are sent as they lie in memory. */
#include "marking/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A copy of the next cnt elements. NULL: cnt is 0, the input is too short (c->bad), or out of memory (*rc). */
static void *take_array(struct cursor *c, uint64_t cnt, size_t each, int *rc)
{
	if (cnt > cursor_left(c) / each)
		c->bad = true;
	const void *from = c->bad || !cnt ? NULL : cursor_bytes(c, cnt * each);
	void *copy = from ? malloc(cnt * each) : NULL;
	if (from && !copy)
		*rc = -ENOMEM;
	return copy ? memcpy(copy, from, cnt * each) : NULL;
}

/* --- heaps -------------------------------------------------------------------------------------- */

struct heap_head {
	uint64_t blocks_cnt, marks_cnt;
	uint64_t gc_no, heap_bytes, free_bytes, unmapped_bytes, read_ns, took_ns;
	uint32_t retries, bad_headers;
	uint8_t torn, unnumbered;
};

void wire_put_heap(struct buf *out, const struct boehm_heap *h)
{
	const struct heap_head head = {
		.blocks_cnt = h->blocks_cnt,
		.marks_cnt = h->marks_cnt,
		.gc_no = h->gc_no,
		.heap_bytes = h->heap_bytes,
		.free_bytes = h->free_bytes,
		.unmapped_bytes = h->unmapped_bytes,
		.read_ns = h->read_ns,
		.took_ns = h->took_ns,
		.retries = h->retries,
		.bad_headers = h->bad_headers,
		.torn = h->torn,
		.unnumbered = h->unnumbered,
	};
	buf_add(out, &head, sizeof(head));
	buf_add(out, h->blocks, h->blocks_cnt * sizeof(*h->blocks));
	buf_add(out, h->marks, h->marks_cnt);
}

static void take_head(struct boehm_heap *h, const struct heap_head *head)
{
	*h = (struct boehm_heap){
		.blocks_cnt = head->blocks_cnt,
		.blocks_cap = head->blocks_cnt,
		.marks_cnt = head->marks_cnt,
		.marks_cap = head->marks_cnt,
		.gc_no = head->gc_no,
		.heap_bytes = head->heap_bytes,
		.free_bytes = head->free_bytes,
		.unmapped_bytes = head->unmapped_bytes,
		.read_ns = head->read_ns,
		.took_ns = head->took_ns,
		.retries = head->retries,
		.bad_headers = head->bad_headers,
		.torn = head->torn != 0,
		.unnumbered = head->unnumbered != 0,
	};
}

int wire_take_heap(struct cursor *c, struct boehm_heap *out)
{
	struct heap_head head;
	int rc = 0;
	const void *bytes = cursor_bytes(c, sizeof(head));
	*out = (struct boehm_heap){ 0 };
	if (!bytes)
		return -EBADMSG;
	memcpy(&head, bytes, sizeof(head));
	take_head(out, &head);
	out->blocks = take_array(c, head.blocks_cnt, sizeof(*out->blocks), &rc);
	out->marks = take_array(c, head.marks_cnt, 1, &rc);
	rc = rc ?: c->bad ? -EBADMSG : boehm_heap_adopt(out);
	if (rc)
		boehm_heap_free(out);
	return rc;
}

/* --- recorded objects ----------------------------------------------------------------------------- */

void wire_put_recorded(struct buf *out, const struct recorded *o)
{
	uint64_t addr, *room;
	buf_le(out, o->count, 8);
	uint8_t *at = buf_room(out, o->count * sizeof(addr));
	size_t n = 0;
	if (!at)
		return;
	for (size_t i = 0; n < o->count && recorded_next(o, &i, &addr); n++) {
		room = (uint64_t *)(void *)(at + n * sizeof(addr));
		memcpy(room, &addr, sizeof(addr));
	}
	out->len += n * sizeof(addr);
}

int wire_take_recorded(struct cursor *c, struct recorded *out)
{
	uint64_t cnt = cursor_le(c, 8), old;
	int rc = cnt > cursor_left(c) / sizeof(uint64_t) ? -EBADMSG : 0;
	*out = (struct recorded){ 0 };
	while (rc >= 0 && cnt--)
		rc = recorded_put(out, cursor_le(c, 8), 0, &old);
	if (rc < 0)
		recorded_free(out);
	return rc < 0 ? rc : 0;
}

/* --- unknown objects ------------------------------------------------------------------------------- */

struct block_head {
	uint64_t addr, size, bits[HEAPSET_GRANULES / 64];
	uint8_t kind, tagged;
};

static void put_set(struct buf *out, const struct heapset *s)
{
	uint64_t cnt = 0;
	for (size_t i = 0; i < s->blocks_cnt; i++)
		cnt += s->blocks[i].members != 0;
	buf_le(out, cnt, 8);
	for (size_t i = 0; i < s->blocks_cnt; i++) {
		const struct heapset_block *b = &s->blocks[i];
		struct block_head head = { .addr = b->addr, .size = b->size, .kind = b->kind, .tagged = b->tags != NULL };
		if (!b->members)
			continue;
		memcpy(head.bits, b->bits, sizeof(head.bits));
		buf_add(out, &head, sizeof(head));
		if (b->tags)
			buf_add(out, b->tags, heapset_tags(b) * sizeof(*b->tags));
	}
}

static int take_block(struct cursor *c, struct heapset *out)
{
	struct block_head head;
	int rc = 0;
	const void *bytes = cursor_bytes(c, sizeof(head));
	if (!bytes)
		return -EBADMSG;
	memcpy(&head, bytes, sizeof(head));
	struct heapset_block b = { .addr = head.addr, .size = head.size, .kind = head.kind };
	memcpy(b.bits, head.bits, sizeof(b.bits));
	if (!b.size)
		return -EBADMSG;
	if (head.tagged)
		b.tags = take_array(c, heapset_tags(&b), sizeof(*b.tags), &rc);
	rc = rc ?: c->bad ? -EBADMSG : heapset_adopt(out, &b);
	free(b.tags);
	return rc;
}

static int take_set(struct cursor *c, struct heapset *out)
{
	int rc = 0;
	for (uint64_t cnt = cursor_le(c, 8); cnt && !rc; cnt--)
		rc = take_block(c, out);
	return rc ?: c->bad ? -EBADMSG : 0;
}

void wire_put_unknown(struct buf *out, const struct unknown *u)
{
	const struct map_slot *s;
	buf_u8(out, u->whole);
	buf_le(out, u->marked_cnt, 8);
	buf_le(out, u->marked_bytes, 8);
	put_set(out, &u->objects);
	put_set(out, &u->empty);
	buf_le(out, u->tables.count, 8);
	for (size_t i = 0; (s = map_next(&u->tables, &i));) {
		buf_le(out, s->key, 8);
		buf_le(out, s->value, 8);
	}
}

static int take_tables(struct cursor *c, struct map *out)
{
	for (uint64_t cnt = cursor_le(c, 8); cnt && !c->bad; cnt--) {
		uint64_t key = cursor_le(c, 8), value = cursor_le(c, 8), *place = c->bad ? NULL : map_put(out, key);
		if (!place)
			return c->bad ? -EBADMSG : -ENOMEM;
		*place = value;
	}
	return c->bad ? -EBADMSG : 0;
}

int wire_take_unknown(struct cursor *c, struct unknown *out)
{
	*out = (struct unknown){ .whole = cursor_u8(c) != 0 };
	out->marked_cnt = cursor_le(c, 8);
	out->marked_bytes = cursor_le(c, 8);
	int rc = take_set(c, &out->objects);
	rc = rc ?: take_set(c, &out->empty);
	rc = rc ?: take_tables(c, &out->tables);
	if (rc)
		unknown_free(out);
	return rc;
}
