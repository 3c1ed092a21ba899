/* SPDX-License-Identifier: Apache-2.0 */
/* marking/wire: answers of a heap reader arrive unchanged, and invalid ones do no harm. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "machine/address.h"
#include "marking/wire.h"

#define BASE 0x7f1234000000ull
#define PLACES 64

/* A block of 64 objects of 64 bytes, and a large object behind it. */
static void make_heap(struct boehm_heap *h)
{
	*h = (struct boehm_heap){
		.blocks_cnt = 2, .marks_cnt = PLACES + 1, .gc_no = 7, .heap_bytes = 4 * BOEHM_BLOCK, .took_ns = 9
	};
	h->blocks = calloc(2, sizeof(*h->blocks));
	h->marks = calloc(1, h->marks_cnt);
	h->blocks[0] = (struct heap_block){
		.addr = BASE, .bytes = BOEHM_BLOCK, .size = 64, .objects = PLACES, .live = 2, .kind = HEAP_NORMAL
	};
	h->blocks[1] = (struct heap_block){ .addr = BASE + BOEHM_BLOCK,
					    .bytes = 3 * BOEHM_BLOCK,
					    .size = 9008,
					    .objects = 1,
					    .marks = PLACES,
					    .kind = HEAP_ATOMIC };
	h->marks[3] = h->marks[5] = 1;
	assert_int_equal(boehm_heap_adopt(h), 0);
}

static void make_unknown(struct unknown *u, const struct boehm_heap *h)
{
	*u = (struct unknown){ .whole = true, .marked_cnt = 2, .marked_bytes = 128 };
	const struct heap_object third = boehm_heap_object(h, 0, 3), fifth = boehm_heap_object(h, 0, 5),
				 large = boehm_heap_object(h, 1, 0);
	assert_int_equal(heapset_put(&u->objects, &third, 77), 0);
	assert_int_equal(heapset_put(&u->objects, &large, 0), 0);
	assert_int_equal(heapset_put(&u->empty, &fifth, 0), 0);
	*map_put(&u->tables, BASE + 4096) = 9008;
}

static void test_heap(void **state)
{
	(void)state;
	struct boehm_heap h, got;
	struct buf bytes = { 0 };
	struct heap_object o;
	make_heap(&h);
	wire_put_heap(&bytes, &h);
	struct cursor c = cursor_over(bytes.data, bytes.len);
	assert_int_equal(wire_take_heap(&c, &got), 0);
	assert_int_equal(cursor_left(&c), 0);
	assert_int_equal(got.gc_no, 7);
	assert_int_equal(got.took_ns, 9);
	assert_true(boehm_heap_find(&got, BASE + 3 * 64 + 5, &o) && o.marked && o.size == 64);
	assert_true(boehm_heap_find(&got, BASE + 2 * BOEHM_BLOCK, &o) && !o.marked && o.size == 9008);
	assert_false(boehm_heap_find(&got, BASE + 4 * BOEHM_BLOCK, &o));
	boehm_heap_free(&got);
	boehm_heap_free(&h);
	buf_free(&bytes);
}

static void test_recorded(void **state)
{
	(void)state;
	struct recorded o = { 0 }, got;
	struct buf bytes = { 0 };
	uint64_t size;
	for (uint64_t i = 0; i < 5000; i++)
		recorded_put(&o, BASE + 16 * i, 16, &size);
	wire_put_recorded(&bytes, &o);
	struct cursor c = cursor_over(bytes.data, bytes.len);
	assert_int_equal(wire_take_recorded(&c, &got), 0);
	assert_int_equal(got.count, 5000);
	for (uint64_t i = 0; i < 5000; i++)
		assert_true(recorded_take(&got, BASE + 16 * i, &size));
	recorded_free(&got);
	c = cursor_over(bytes.data, bytes.len - 1);
	assert_int_equal(wire_take_recorded(&c, &got), -EBADMSG);
	recorded_free(&o);
	buf_free(&bytes);
}

static void test_unknown(void **state)
{
	(void)state;
	struct boehm_heap h;
	struct unknown u, got;
	struct buf bytes = { 0 };
	make_heap(&h);
	make_unknown(&u, &h);
	wire_put_unknown(&bytes, &u);
	struct cursor c = cursor_over(bytes.data, bytes.len);
	assert_int_equal(wire_take_unknown(&c, &got), 0);
	assert_int_equal(cursor_left(&c), 0);
	assert_true(got.whole);
	assert_int_equal(got.marked_bytes, 128);
	assert_int_equal(got.objects.count, 2);
	assert_int_equal(got.objects.bytes, 64 + 9008);
	struct heapset_at at = { 0 };
	assert_true(heapset_next(&got.objects, &at) && at.addr == BASE + 3 * 64 && at.tag == 77);
	assert_int_equal(heapset_size(&got.empty, BASE + 5 * 64), 64);
	assert_int_equal(*map_get(&got.tables, BASE + 4096), 9008);
	unknown_free(&got);
	unknown_free(&u);
	boehm_heap_free(&h);
	buf_free(&bytes);
}

/* What a recording does with it. */
static void use_heap(const struct boehm_heap *h)
{
	struct heapset all = { 0 };
	struct heap_object o;
	for (size_t i = 0; i < h->blocks_cnt; i++) {
		for (uint32_t k = 0; k < h->blocks[i].objects; k++) {
			o = boehm_heap_object(h, i, k);
			heapset_put(&all, &o, (uint16_t)o.marked);
		}
	}
	for (uint64_t at = BASE - 64; at < BASE + 5 * BOEHM_BLOCK; at += 16)
		boehm_heap_find(h, at, &o);
	heapset_keep_marked(&all, h);
	heapset_free(&all);
}

static void use_unknown(struct unknown *u, const struct boehm_heap *h)
{
	struct heapset copy;
	uint64_t sum = 0;
	for (struct heapset_at at = { 0 }; heapset_next(&u->objects, &at);)
		sum += at.tag + at.of->size;
	if (!heapset_copy(&copy, &u->objects))
		heapset_keep_common(&copy, &u->objects, &u->empty);
	heapset_free(&copy);
	heapset_keep_marked(&u->objects, h);
	for (int i = 0; i < PLACES; i++)
		heapset_take(&u->objects, BASE + 64 * (uint64_t)i);
	assert_true(sum || !sum);
}

static void try_lie(const struct buf *heap, const struct buf *unknown, const struct boehm_heap *true_one)
{
	struct boehm_heap h;
	struct unknown u;
	struct cursor c = cursor_over(heap->data, heap->len);
	if (!wire_take_heap(&c, &h)) {
		use_heap(&h);
		boehm_heap_free(&h);
	}
	c = cursor_over(unknown->data, unknown->len);
	if (!wire_take_unknown(&c, &u)) {
		use_unknown(&u, true_one);
		unknown_free(&u);
	}
}

/* Each bit flipped, each length truncated; the allocator's checks and sanitizers see errors. */
static void test_lies(void **state)
{
	(void)state;
	struct boehm_heap h;
	struct unknown u;
	struct buf heap = { 0 }, unknown = { 0 };
	make_heap(&h);
	make_unknown(&u, &h);
	wire_put_heap(&heap, &h);
	wire_put_unknown(&unknown, &u);
	size_t n = heap.len > unknown.len ? heap.len : unknown.len;
	for (size_t bit = 0; bit < 8 * n; bit++) {
		struct buf *const both[] = { &heap, &unknown };
		for (int turn = 0; turn < 2; turn++) {
			for (int i = 0; i < 2; i++) {
				if (bit / 8 < both[i]->len)
					both[i]->data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			}
			if (!turn)
				try_lie(&heap, &unknown, &h);
		}
	}
	const size_t heap_len = heap.len, unknown_len = unknown.len;
	for (size_t cut = 1; cut <= n; cut++) {
		heap.len = heap_len > cut ? heap_len - cut : 0;
		unknown.len = unknown_len > cut ? unknown_len - cut : 0;
		try_lie(&heap, &unknown, &h);
	}
	unknown_free(&u);
	boehm_heap_free(&h);
	buf_free(&heap);
	buf_free(&unknown);
}

/* Invalid heaps are refused, each for one reason. */
static void test_no_heap(void **state)
{
	(void)state;
	struct boehm_heap h;
	const struct heap_block lies[] = {
		{ .addr = BASE + 8, .bytes = BOEHM_BLOCK, .size = 64, .objects = 64 },
		{ .addr = BASE, .bytes = BOEHM_BLOCK, .size = 0, .objects = 64 },
		{ .addr = BASE, .bytes = BOEHM_BLOCK, .size = 128, .objects = 64 },
		{ .addr = BASE, .bytes = 64 * BOEHM_BLOCK, .size = 1024, .objects = 64 },
		{ .addr = BASE, .bytes = 2 * BOEHM_BLOCK, .size = 64, .objects = 64 },
		{ .addr = BASE, .bytes = BOEHM_BLOCK, .size = 64, .objects = 64, .marks = 2 },
		{ .addr = BASE, .bytes = BOEHM_BLOCK, .size = 64, .objects = 64, .live = 65 },
		{ .addr = ADDRESS_END, .bytes = BOEHM_BLOCK, .size = 64, .objects = 64 },
		{ .addr = BASE, .bytes = BOEHM_BLOCK, .size = 64, .objects = 0 },
	};
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		make_heap(&h);
		free(h.pages);
		h.pages = NULL;
		h.blocks[0] = lies[i];
		assert_int_equal(boehm_heap_adopt(&h), -EBADMSG);
		boehm_heap_free(&h);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heap), cmocka_unit_test(test_recorded), cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_lies), cmocka_unit_test(test_no_heap),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
