/* SPDX-License-Identifier: Apache-2.0 */
/* marking/unknown, resurrected and heap_copy: on heaps made by hand. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "marking/heap_copy.h"
#include "marking/resurrected.h"
#include "marking/unknown.h"

#define BASE 0x7f1234000000ull
#define CODE 0x7f9900000000ull
#define LINKS BASE                     /* a block of entries, 32 bytes */
#define SMALL (BASE + BOEHM_BLOCK)     /* of objects of 144: a table of 16 places */
#define PLAIN (BASE + 2 * BOEHM_BLOCK) /* the program's own, 48 bytes */
#define WHOLE (BASE + 3 * BOEHM_BLOCK) /* one object, without pointers */
#define BLOCKS 4

struct shop {
	uint64_t words[BLOCKS * BOEHM_BLOCK / 8];
	struct memory_source source;
	struct memory memory;
	struct boehm_heap heap;
	struct own_places own;
	struct recorded recorded;
	struct unknown found;
};

static int64_t read_shop(void *ctx, uint64_t addr, void *out, size_t n)
{
	struct shop *s = ctx;
	if (addr < BASE || addr + n > BASE + sizeof(s->words))
		return -14;
	memcpy(out, (uint8_t *)s->words + (addr - BASE), n);
	return (int64_t)n;
}

static void set_up(struct boehm_heap *h)
{
	static const uint64_t sizes[BLOCKS] = { 32, 144, 48, BOEHM_BLOCK };
	*h = (struct boehm_heap){ .blocks_cnt = BLOCKS, .first_page = BASE / BOEHM_BLOCK, .pages_cnt = BLOCKS, .gc_no = 5 };
	h->blocks = calloc(BLOCKS, sizeof(*h->blocks));
	h->pages = calloc(BLOCKS, sizeof(*h->pages));
	for (size_t i = 0; i < BLOCKS; i++) {
		uint32_t each = (uint32_t)(BOEHM_BLOCK / sizes[i]);
		h->blocks[i] = (struct heap_block){ .addr = BASE + i * BOEHM_BLOCK,
						    .bytes = BOEHM_BLOCK,
						    .size = sizes[i],
						    .objects = each,
						    .marks = h->marks_cnt,
						    .kind = each > 1 ? HEAP_NORMAL : HEAP_ATOMIC,
						    .last_reclaimed = 3 };
		h->marks_cnt += each;
		h->pages[i] = (uint32_t)i + 1;
	}
	h->marks = calloc(h->marks_cnt, 1);
}

static void open_shop(struct shop *s)
{
	memset(s, 0, sizeof(*s));
	s->source = (struct memory_source){ read_shop, s };
	s->memory.source = &s->source;
	s->own.code = (struct root_exclude){ CODE, CODE + 0x1000 };
	set_up(&s->heap);
}

static void close_shop(struct shop *s)
{
	boehm_heap_free(&s->heap);
	recorded_free(&s->recorded);
	unknown_free(&s->found);
}

static uint64_t *word(struct shop *s, uint64_t addr)
{
	return &s->words[(addr - BASE) / 8];
}

static void mark(struct boehm_heap *h, uint64_t addr)
{
	struct heap_object o;
	assert_true(boehm_heap_find(h, addr, &o));
	h->marks[h->blocks[o.block].marks + o.index] = 1;
}

/* A link of the program's object at key. */
static void put_entry(struct shop *s, uint64_t addr, uint64_t key)
{
	*word(s, addr) = ~key;
	*word(s, addr + 16) = ~(PLAIN + 48);
	mark(&s->heap, addr);
}

static uint64_t place_of(uint64_t key, uint64_t slots, int log)
{
	return (key >> 3 ^ key >> (3 + log)) & (slots - 1);
}

/* Of what was found before only tables are left. */
static uint64_t unknown_again(struct shop *s)
{
	heapset_free(&s->found.objects);
	assert_int_equal(unknown_find(&s->memory, &s->own, &s->heap, &s->recorded, UINT64_MAX, &s->found), 0);
	assert_true(s->found.whole);
	return s->found.objects.count;
}

static uint64_t unknown_in(struct shop *s)
{
	unknown_free(&s->found);
	return unknown_again(s);
}

static void test_a_table_is_known_by_the_places_of_its_entries(void **state)
{
	(void)state;
	struct shop s;
	uint64_t key = PLAIN + 96, at = SMALL + place_of(key, 16, 4) * 8, other = SMALL + (place_of(key, 16, 4) + 1) % 16 * 8;
	open_shop(&s);
	put_entry(&s, LINKS + 64, key);
	*word(&s, at) = LINKS + 64;
	mark(&s.heap, SMALL);
	assert_int_equal(unknown_in(&s), 0);
	assert_non_null(map_get(&s.found.tables, SMALL));

	*word(&s, other) = PLAIN + 48; /* whose entry is gone */
	assert_int_equal(unknown_in(&s), 0);
	*word(&s, other) = 7;
	assert_int_equal(unknown_in(&s), 1);
	*word(&s, other) = LINKS + 64;
	*word(&s, at) = 0;
	assert_int_equal(unknown_in(&s), 1);
	close_shop(&s);
}

static void test_a_table_without_entries_is_known_from_before(void **state)
{
	(void)state;
	struct shop s;
	open_shop(&s);
	*word(&s, SMALL + 8) = PLAIN + 48;
	mark(&s.heap, SMALL);
	assert_int_equal(unknown_in(&s), 1);
	*map_put(&s.found.tables, SMALL) = 144;
	assert_int_equal(unknown_again(&s), 0);
	assert_non_null(map_get(&s.found.tables, SMALL));
	close_shop(&s);
}

/* Two negative numbers are no hidden addresses. */
static void test_the_programs_own_are_no_entries(void **state)
{
	(void)state;
	struct shop s;
	open_shop(&s);
	*word(&s, LINKS + 32) = (uint64_t)-100000;
	*word(&s, LINKS + 48) = (uint64_t)-200000;
	mark(&s.heap, LINKS + 32);
	assert_int_equal(unknown_in(&s), 1);
	close_shop(&s);
}

/* Heap sections begin where blocks do: variables with such addresses reference no object. */
static void test_variables_that_lead_to_blocks(void **state)
{
	(void)state;
	struct shop s;
	open_shop(&s);
	s.own.variables[0] = (struct root_exclude){ PLAIN + 4080, PLAIN + 4096 };
	s.own.variables_cnt = 1;
	*word(&s, PLAIN + 4080) = PLAIN;
	*word(&s, PLAIN + 8) = 1;
	mark(&s.heap, PLAIN);
	assert_int_equal(unknown_in(&s), 1);
	*word(&s, PLAIN + 8) = 0;
	assert_int_equal(unknown_in(&s), 0);
	close_shop(&s);
}

/* A part at a time, and what was judged is not read again. */
static void test_what_was_judged_stays_so_while_it_is_marked(void **state)
{
	(void)state;
	struct shop s;
	open_shop(&s);
	for (uint64_t i = 0; i < 10; i++) {
		*word(&s, PLAIN + i * 48) = 42;
		mark(&s.heap, PLAIN + i * 48);
		*word(&s, SMALL + i * 144) = 42;
		mark(&s.heap, SMALL + i * 144);
	}
	assert_int_equal(unknown_find(&s.memory, &s.own, &s.heap, &s.recorded, 1, &s.found), 0);
	assert_false(s.found.whole);
	assert_int_equal(s.found.objects.count, 10);
	assert_int_equal(unknown_find(&s.memory, &s.own, &s.heap, &s.recorded, 1, &s.found), 0);
	assert_true(s.found.whole);
	assert_int_equal(s.found.objects.count, 20);
	assert_int_equal(s.found.objects.bytes, 10 * (48 + 144));
	assert_int_equal(s.found.marked_cnt, 20);

	uint64_t read = s.memory.bytes;
	memset(s.words, 0, sizeof(s.words));
	assert_int_equal(unknown_find(&s.memory, &s.own, &s.heap, &s.recorded, 1, &s.found), 0);
	assert_int_equal(s.found.objects.count, 20);
	assert_int_equal(s.memory.bytes, read);

	uint64_t old;
	assert_int_equal(recorded_put(&s.recorded, PLAIN + 48, 40, &old), 0);
	s.heap.marks[s.heap.blocks[2].marks] = 0;
	s.heap.blocks[1].size = 160;
	assert_int_equal(unknown_find(&s.memory, &s.own, &s.heap, &s.recorded, UINT64_MAX, &s.found), 0);
	assert_int_equal(s.found.objects.count, 8); /* the other block has other objects now, all of zeros */
	assert_int_equal(s.found.empty.count, 10);
	close_shop(&s);
}

/* Possible values of the number in front. */
static void test_a_block_that_the_collector_gave_up_is_no_object(void **state)
{
	(void)state;
	struct shop s;
	open_shop(&s);
	mark(&s.heap, WHOLE);
	assert_int_equal(unknown_in(&s), 0);
	assert_int_equal(s.found.empty.count, 1);
	*word(&s, WHOLE + BOEHM_BLOCK - 8) = 7;
	assert_int_equal(unknown_in(&s), 1);
	assert_int_equal(s.found.empty.count, 0);
	close_shop(&s);
}

static void test_tags(void **state)
{
	(void)state;
	struct shop s;
	struct heapset_at at = { 0 };
	open_shop(&s);
	*word(&s, PLAIN) = 88;
	*word(&s, PLAIN + 48) = 70000;
	*word(&s, PLAIN + 96) = 1; /* a string has no pointers */
	for (int i = 0; i < 3; i++)
		mark(&s.heap, PLAIN + i * 48);
	assert_int_equal(unknown_in(&s), 3);
	for (int i = 0; i < 3; i++) {
		assert_true(heapset_next(&s.found.objects, &at));
		assert_int_equal(at.tag, i ? 0 : 88);
	}
	assert_false(heapset_next(&s.found.objects, &at));
	close_shop(&s);
}

static struct heap_object object_at(uint64_t base, uint64_t size)
{
	return (struct heap_object){ .base = base, .size = size, .kind = HEAP_NORMAL };
}

static void test_sets_of_objects(void **state)
{
	(void)state;
	struct heapset a = { 0 }, b = { 0 }, copy;
	struct heapset_at at = { 0 };
	for (uint64_t i = 0; i < 50; i++) {
		struct heap_object o = object_at(PLAIN + i * 48, 48), large = object_at(BASE + (1 + i) * 0x100000, 70000);
		assert_int_equal(heapset_put(&a, &o, (uint16_t)(i % 3)), 0);
		assert_int_equal(heapset_put(&a, &large, 0), 0);
		if (i % 2)
			assert_int_equal(heapset_put(&b, &o, 0), 0);
	}
	assert_int_equal(a.count, 100);
	assert_int_equal(a.bytes, 50 * (48 + 70000));
	assert_int_equal(heapset_size(&a, PLAIN + 48), 48);
	assert_int_equal(heapset_size(&a, PLAIN + 16), 0);
	struct heapset_sum both = heapset_common(&a, &b);
	assert_int_equal(both.count, 25);
	assert_int_equal(both.bytes, 25 * 48);
	for (uint64_t i = 1; i < 50; i += 2) {
		assert_true(heapset_next_common(&a, &b, &at));
		assert_int_equal(at.addr, PLAIN + i * 48);
		assert_int_equal(at.tag, i % 3);
	}
	assert_false(heapset_next_common(&a, &b, &at));
	assert_int_equal(heapset_copy(&copy, &a), 0);
	assert_true(heapset_take(&copy, PLAIN + 48));
	assert_false(heapset_take(&copy, PLAIN + 48));
	heapset_keep_common(&a, &b, &(struct heapset){ 0 });
	assert_int_equal(a.count, 25);
	assert_int_equal(copy.count, 99);
	struct heap_object other = object_at(PLAIN, 64); /* the block has other objects now */
	assert_int_equal(heapset_put(&a, &other, 0), 0);
	assert_int_equal(a.count, 1);
	heapset_free(&a);
	heapset_free(&b);
	heapset_free(&copy);
}

static void test_a_copy_takes_the_place_of_a_process(void **state)
{
	(void)state;
	struct shop s;
	struct heap_copy *i;
	open_shop(&s);
	struct rights_range variable = { PLAIN, 16 };
	*word(&s, SMALL + 8) = 11;
	s.heap.blocks_cnt = 2;
	assert_int_equal(heap_copy_new(&s.memory, &s.heap, &variable, 1, 2 * BOEHM_BLOCK, &i), 0);
	assert_null(i);
	assert_int_equal(heap_copy_new(&s.memory, &s.heap, &variable, 1, 2 * BOEHM_BLOCK + 16, &i), 0);
	*word(&s, SMALL + 8) = 12;
	/* Another process gets the same. */
	struct buf bytes = { 0 };
	heap_copy_put(i, &bytes);
	heap_copy_free(i);
	assert_int_equal(heap_copy_take(bytes.data, bytes.len - 1, &i), -EBADMSG);
	assert_int_equal(heap_copy_take(bytes.data, bytes.len, &i), 0);
	buf_free(&bytes);
	struct memory copy = { .source = heap_copy_source(i) };
	uint64_t got[2];
	assert_int_equal(memory_read(&copy, SMALL + 8, got, 8), 0);
	assert_int_equal(got[0], 11);
	assert_int_equal(memory_read(&copy, PLAIN, got, 16), 0);
	assert_int_not_equal(memory_read(&copy, PLAIN + 8, got, 16), 0);
	assert_int_not_equal(memory_read(&copy, BASE - 8, got, 8), 0);
	heap_copy_free(i);
	close_shop(&s);
}

static void next_reading(struct resurrected *r, uint64_t gc_no, uint16_t swept, const uint64_t *marked, size_t cnt)
{
	struct boehm_heap h;
	set_up(&h);
	h.gc_no = gc_no;
	for (size_t i = 0; i < BLOCKS; i++)
		h.blocks[i].last_reclaimed = swept;
	for (size_t i = 0; i < cnt; i++)
		mark(&h, marked[i]);
	assert_int_equal(resurrected_note(r, &h), 0);
	boehm_heap_free(&h);
}

static void test_garbage_that_was_never_swept(void **state)
{
	(void)state;
	struct resurrected r = { 0 };
	const uint64_t both[] = { PLAIN, PLAIN + 48 };
	next_reading(&r, 10, 3, both, 1);
	assert_int_equal(r.objects.count, 0);
	next_reading(&r, 11, 3, both, 2);
	assert_non_null(map_get(&r.objects, PLAIN + 48));
	next_reading(&r, 12, 11, both, 2); /* a sweep does not free what was marked before it */
	assert_int_equal(r.objects.count, 1);
	next_reading(&r, 14, 13, both, 2); /* 13 was not read: it may have been free in between */
	assert_int_equal(r.objects.count, 0);
	next_reading(&r, 15, 13, both, 1);
	next_reading(&r, 16, 15, both, 2); /* swept since it died: another one */
	assert_int_equal(r.objects.count, 0);
	resurrected_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_table_is_known_by_the_places_of_its_entries),
		cmocka_unit_test(test_a_table_without_entries_is_known_from_before),
		cmocka_unit_test(test_the_programs_own_are_no_entries),
		cmocka_unit_test(test_variables_that_lead_to_blocks),
		cmocka_unit_test(test_what_was_judged_stays_so_while_it_is_marked),
		cmocka_unit_test(test_tags),
		cmocka_unit_test(test_a_block_that_the_collector_gave_up_is_no_object),
		cmocka_unit_test(test_sets_of_objects),
		cmocka_unit_test(test_a_copy_takes_the_place_of_a_process),
		cmocka_unit_test(test_garbage_that_was_never_swept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
