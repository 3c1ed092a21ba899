/* SPDX-License-Identifier: Apache-2.0 */
/* boehm: memory, layouts, readings and censuses of a heap made by hand, valid and damaged; names of types. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "access/pages.h"
#include "heapgraph/census.h"
#include "lib/heapimage.h"

/* --- memory ------------------------------------------------------------------------------------- */

static void test_reading_over_holes(void **state)
{
	(void)state;
	uint8_t *pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), out[64];
	memset(pages, 7, 3 * 4096);
	mprotect(pages + 4096, 4096, PROT_NONE);
	struct memory m = { .tgid = (uint32_t)getpid() };
	uint64_t at = (uintptr_t)pages;
	struct rights_range r[] = { { at, 8 }, { at + 4096, 8 }, { at + 4096 - 4, 8 }, { at, 0 }, { at + 8192, 8 }, { 0, 8 } };
	size_t unreadable = 0;
	memset(out, 1, sizeof(out));
	assert_int_equal(memory_read_ranges(&m, r, 6, out, &unreadable), 0);
	assert_int_equal(unreadable, 3);
	for (size_t i = 0; i < 40; i++)
		assert_int_equal(out[i], i < 8 || (i >= 24 && i < 32) ? 7 : 0);
	assert_int_equal(memory_read(&m, at + 4090, out, 12), -EFAULT);
	assert_int_equal(memory_read(&m, at + 8192, out, 12), 0);
	m.tgid = 4194303;
	assert_int_equal(memory_read(&m, at, out, 1), -ESRCH);
	munmap(pages, 3 * 4096);
}

/* Of eight pages 1, 2, 5 and 7 are used. */
static void test_reading_what_is_used(void **state)
{
	(void)state;
	static struct pages used;
	uint8_t *all = mmap(NULL, 8 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), out[8 * 4096];
	uint64_t base = (uintptr_t)all, at = base + 100, end = base + 8 * 4096 - 10;
	const int touched[] = { 1, 2, 5, 7 };
	for (size_t i = 0; i < 4; i++)
		memset(all + touched[i] * 4096, 1 + touched[i], 4096);
	struct memory m = { .tgid = (uint32_t)getpid() };
	struct rights_range r[2];
	size_t unreadable = 0;
	pages_open(&used, m.tgid);
	assert_true(used.fd >= 0);
	assert_int_equal(pages_used(&used, &at, end, r, 2), 2);
	assert_true(r[0].addr == base + 4096 && r[0].n == 8192 && r[1].addr == base + 5 * 4096 && r[1].n == 4096);
	assert_int_equal(at, base + 7 * 4096);
	memset(out, 99, sizeof(out));
	assert_int_equal(memory_read_spread(&m, r, 2, base, out, &unreadable), 0);
	assert_int_equal(unreadable, 0);
	for (size_t i = 0; i < sizeof(out); i++)
		assert_int_equal(out[i], i / 4096 == 1 || i / 4096 == 2 || i / 4096 == 5 ? 1 + i / 4096 : 99);
	assert_int_equal(pages_used(&used, &at, end, r, 2), 1);
	assert_true(r[0].addr == base + 7 * 4096 && r[0].n == 4096 - 10 && at == end);
	assert_int_equal(memory_read_spread(&m, r, 1, base, out, &unreadable), 0);
	assert_true(out[7 * 4096] == 8 && out[8 * 4096 - 11] == 8 && out[8 * 4096 - 10] == 99);
	assert_int_equal(pages_used(&used, &at, end, r, 2), 0);
	pages_close(&used);
	munmap(all, 8 * 4096);
}

static void test_space(void **state)
{
	(void)state;
	struct space s = { 0 };
	struct space_region r[] = { { .start = 10, .end = 20, .path = "a" },
				    { .start = 20, .end = 30, .path = "b" },
				    { .start = 25, .end = 40, .path = "overlaps" },
				    { .start = 50, .end = 50, .path = "empty" },
				    { .start = 50, .end = 60, .path = NULL } };
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(space_add(&s, &r[i]), 0);
	assert_int_equal(s.regions_cnt, 3);
	assert_null(space_find(&s, 9));
	assert_string_equal(space_find(&s, 19)->path, "a");
	assert_string_equal(space_find(&s, 20)->path, "b");
	assert_null(space_find(&s, 30));
	assert_string_equal(space_find(&s, 59)->path, "");
	space_free(&s);
}

/* --- layouts and readings ----------------------------------------------------------------------- */

struct sample {
	uint64_t small, atomic, large, gap, ends;
};

static struct sample fill(struct heapimage *im)
{
	struct sample s;
	s.small = image_block(im, 48, HEAP_NORMAL, 0x5);
	s.atomic = image_block(im, 16, HEAP_ATOMIC, 0xff);
	s.gap = image_gap(im, 8192, false);
	s.large = image_block(im, 10000, HEAP_NORMAL, 1);
	image_gap(im, 4096, true);
	s.ends = image_block(im, 1360, HEAP_UNCOLLECTABLE, 0x7);
	return s;
}

/* A heap with the sample and the layout that was found in it. */
static struct sample filled(struct heapimage *im, struct layout *l)
{
	struct err err;
	image_begin(im, LAYOUT_MARK_BYTES);
	struct sample s = fill(im);
	assert_int_equal(image_layout(im, l, &err), 0);
	return s;
}

static void check_reading(struct heapimage *im, const struct sample *s)
{
	struct layout l;
	struct boehm_heap h;
	struct heap_object o;
	struct err err;
	assert_int_equal(image_layout(im, &l, &err), 0);
	assert_int_equal(l.marks, im->marks);
	assert_int_equal(l.top_index, IMAGE_TOP);
	assert_int_equal(l.mark_stack, IMAGE_STACK);
	assert_int_equal(l.mark_state, IMAGE_STATE);
	assert_int_equal(l.found, LAYOUT_BY_SCAN);
	assert_int_equal(boehm_heap_read(&im->memory, &l, &h, &err), 0);
	assert_false(h.torn);
	assert_int_equal(h.blocks_cnt, 4);
	assert_int_equal(h.bad_headers, 0);
	assert_int_equal(h.gc_no, IMAGE_CYCLE);
	assert_int_equal(h.heap_bytes, im->next - IMAGE_BLOCKS);
	assert_int_equal(h.free_bytes, 8192);
	assert_int_equal(h.unmapped_bytes, 4096);
	assert_true(boehm_heap_find(&h, s->small + 2 * 48 + 47, &o));
	assert_int_equal(o.base, s->small + 2 * 48);
	assert_true(o.marked && o.size == 48 && o.kind == HEAP_NORMAL && o.index == 2);
	assert_true(boehm_heap_find(&h, s->small + 48, &o) && !o.marked);
	assert_false(boehm_heap_find(&h, s->small + 4095, &o)); /* behind the last one */
	assert_false(boehm_heap_find(&h, s->gap, &o));
	assert_false(boehm_heap_find(&h, IMAGE_BLOCKS - 1, &o));
	assert_false(boehm_heap_find(&h, im->next, &o));
	assert_true(boehm_heap_find(&h, s->large + 9999, &o) && o.base == s->large && o.size == 10000);
	assert_false(boehm_heap_find(&h, s->large + 10000, &o));
	assert_true(boehm_heap_find(&h, s->ends + 2 * 1360, &o) && o.marked);
	assert_int_equal(h.marks_cnt, 85 + 256 + 1 + 3);
	boehm_heap_free(&h);
}

static void test_all_kinds_of_marks(void **state)
{
	(void)state;
	for (int marks = LAYOUT_MARK_BYTES; marks <= LAYOUT_MARK_OBJECT_BITS; marks++) {
		struct heapimage im;
		image_begin(&im, (enum layout_marks)marks);
		struct sample s = fill(&im);
		check_reading(&im, &s);
		image_end(&im);
	}
}

/* Where the caller knows that no cycle begins, the same marks take fewer reads; what would look torn is not asked for. */
static void test_marks_alone(void **state)
{
	struct heapimage im;
	struct layout l;
	struct boehm_heap all, marks;
	struct err err;
	(void)state;
	image_begin(&im, LAYOUT_MARK_BYTES);
	struct sample s = fill(&im);
	struct heap_object o;
	assert_int_equal(image_layout(&im, &l, &err), 0);
	image_put(&im, IMAGE_STATE, 3, 4);
	uint64_t before = im.memory.reads;
	assert_int_equal(boehm_heap_read_now(&im.memory, &l, &all, &err), 0);
	uint64_t between = im.memory.reads;
	assert_int_equal(boehm_heap_read_marks(&im.memory, &l, NULL, 0, &marks, &err), 0);
	assert_true(im.memory.reads - between < between - before);
	assert_true(all.torn && !marks.torn);
	assert_int_equal(marks.gc_no, all.gc_no);
	assert_int_equal(marks.heap_bytes, all.heap_bytes);
	assert_int_equal(marks.blocks_cnt, all.blocks_cnt);
	assert_int_equal(marks.marks_cnt, all.marks_cnt);
	assert_memory_equal(marks.marks, all.marks, all.marks_cnt);
	assert_true(boehm_heap_covers(&marks, s.small) && boehm_heap_find(&marks, s.small, &o) && o.marked);
	boehm_heap_free(&all);
	boehm_heap_free(&marks);
	image_end(&im);
}

static uint64_t *asked(const uint64_t *addrs, size_t cnt)
{
	uint64_t *out = calloc(cnt + 1, sizeof(*out));
	memcpy(out, addrs, cnt * sizeof(*out));
	return out;
}

static void test_some_blocks(void **state)
{
	struct heapimage im;
	struct layout l;
	struct boehm_heap h;
	struct heap_object o;
	struct err err;
	(void)state;
	image_begin(&im, LAYOUT_MARK_BYTES);
	struct sample s = fill(&im);
	const uint64_t some[] = { IMAGE_BLOCKS - 1, s.small + 48, s.gap + 16, s.large + 9000 };
	assert_int_equal(image_layout(&im, &l, &err), 0);
	assert_int_equal(boehm_heap_read_marks(&im.memory, &l, asked(some, 4), 4, &h, &err), 0);
	assert_int_equal(h.blocks_cnt, 2);
	assert_int_equal(h.gc_no, IMAGE_CYCLE);
	assert_int_equal(h.heap_bytes, 0); /* unknown */
	assert_true(boehm_heap_find(&h, s.small, &o) && o.marked);
	assert_true(boehm_heap_find(&h, s.small + 48, &o) && !o.marked);
	assert_true(boehm_heap_find(&h, s.large + 9000, &o) && o.base == s.large && o.marked);
	assert_false(boehm_heap_find(&h, s.atomic, &o));
	for (size_t i = 0; i < 4; i++)
		assert_true(boehm_heap_covers(&h, some[i]));
	assert_false(boehm_heap_covers(&h, s.small));
	assert_false(boehm_heap_covers(&h, s.atomic));
	boehm_heap_free(&h);
	assert_int_equal(boehm_heap_read_marks(&im.memory, &l, asked(some, 0), 0, &h, &err), 0);
	assert_int_equal(h.blocks_cnt, 0);
	assert_false(boehm_heap_covers(&h, s.small + 48));
	boehm_heap_free(&h);
	image_end(&im);
}

#define UNIT (4ull << 20) /* covered by one lower table */
#define SECOND_BOTTOM (IMAGE_BASE + 0xc000)

/* A lower table for the addresses behind those of the image's own. */
static void add_second_unit(struct heapimage *im)
{
	uint64_t key = IMAGE_BASE / UNIT + 1;
	image_put(im, IMAGE_TOP + key % 2048 * 8, SECOND_BOTTOM, 8);
	image_put(im, SECOND_BOTTOM + 0x2010, key, 8);
	image_put(im, SECOND_BOTTOM + 0x2018, IMAGE_NILS, 8);
}

/* Sets all marks or none; returns how many bytes were read. */
static uint64_t expect_asked(struct heapimage *im, const uint64_t *addrs, size_t cnt, uint64_t base)
{
	struct layout l;
	struct boehm_heap h;
	struct heap_object o;
	struct err err;
	assert_int_equal(image_layout(im, &l, &err), 0);
	uint64_t before = im->memory.bytes;
	uint64_t *some = asked(addrs, cnt);
	assert_int_equal(boehm_heap_read_marks(&im->memory, &l, some, cnt, &h, &err), 0);
	assert_int_equal(h.gc_no, IMAGE_CYCLE);
	for (size_t i = 0; i < cnt; i++) {
		bool found = boehm_heap_find(&h, addrs[i], &o);
		assert_int_equal(found && o.marked ? o.base : 0, i == cnt - 1 ? base : 0);
	}
	boehm_heap_free(&h);
	return im->memory.bytes - before;
}

/* Of the index only the parts that lead to blocks are read, whatever the layout. */
static void test_ways_to_some_blocks(void **state)
{
	struct heapimage im;
	uint64_t many[40];
	(void)state;
	image_begin(&im, LAYOUT_MARK_BYTES);
	struct sample s = fill(&im);
	add_second_unit(&im);
	im.next = IMAGE_BASE + UNIT - 8192;
	uint64_t border = image_block(&im, 5 * 4096, HEAP_NORMAL, 1);
	for (uint64_t i = 0; i < 3; i++)
		image_put(&im, SECOND_BOTTOM + i * 8, i + 2, 8);

	assert_int_equal(expect_asked(&im, &s.small, 0, 0), 8);
	assert_true(expect_asked(&im, &s.small, 1, s.small) < 2048 * 8);
	/* Inside the block that began a table before. */
	const uint64_t inside = IMAGE_BASE + UNIT + 4096, behind = IMAGE_BASE + UNIT + 3 * 4096;
	expect_asked(&im, &inside, 1, border);
	expect_asked(&im, &behind, 1, 0);
	/* In all places: more tables than are read one by one. */
	for (size_t i = 0; i < 40; i++)
		many[i] = IMAGE_BASE - (39 - i) * UNIT + (i == 39 ? s.small - IMAGE_BASE : 0);
	expect_asked(&im, many, 40, s.small);
	image_end(&im);
}

static void expect_no_layout(struct heapimage *im, int code)
{
	struct layout l;
	struct err err = { 0 };
	assert_int_equal(image_layout(im, &l, &err), -code);
	assert_true(*err.text);
	image_end(im);
}

static void test_what_is_no_layout(void **state)
{
	struct heapimage im;
	(void)state;
	image_begin(&im, LAYOUT_MARK_BYTES);
	memset(im.bytes, 0, IMAGE_SZ);
	expect_no_layout(&im, ENOTSUP);
	image_begin(&im, LAYOUT_MARK_BYTES); /* not a block yet */
	expect_no_layout(&im, ENODATA);
	image_begin(&im, LAYOUT_MARK_BYTES);
	fill(&im);
	image_put(&im, IMAGE_BOTTOM + 0x2010, (IMAGE_BASE >> 22) + 1, 8); /* in the wrong place */
	expect_no_layout(&im, ENOTSUP);
	image_begin(&im, LAYOUT_MARK_BYTES);
	fill(&im);
	for (uint32_t i = 0; i < im.headers; i++)
		image_put(&im, image_header(&im, i) + 0x10, IMAGE_BASE + 4096 * 99, 8);
	expect_no_layout(&im, ENOTSUP);
	image_begin(&im, LAYOUT_MARK_BYTES);
	fill(&im);
	for (uint32_t i = 0; i < im.headers; i++)
		memset(image_at(&im, image_header(&im, i) + 0x30), 0x55, IMAGE_HEADER_SZ - 0x30);
	expect_no_layout(&im, ENOTSUP);
}

static void test_waits_for_the_end_of_a_cycle(void **state)
{
	struct heapimage im;
	struct layout l;
	struct boehm_heap h;
	struct err err;
	(void)state;
	filled(&im, &l);
	image_put(&im, IMAGE_STATE, 3, 4);
	assert_int_equal(boehm_heap_read_now(&im.memory, &l, &h, &err), 0);
	assert_true(h.torn);
	boehm_heap_free(&h);
	im.idle_after = 20;
	assert_int_equal(boehm_heap_read(&im.memory, &l, &h, &err), 0);
	assert_false(h.torn);
	assert_true(h.retries > 0);
	boehm_heap_free(&h);
	image_end(&im);
}

/* A cycle that was interrupted while it cleared or marked leaves blocks without marks that are older than the cycle. */
static void test_cycle_that_sleeps(void **state)
{
	struct heapimage im;
	struct layout l;
	struct boehm_heap h;
	struct err err;
	(void)state;
	image_begin(&im, LAYOUT_MARK_BYTES);
	fill(&im);
	image_block(&im, 64, HEAP_NORMAL, 0); /* younger than the cycle: nothing wrong */
	assert_int_equal(image_layout(&im, &l, &err), 0);
	assert_int_equal(boehm_heap_read(&im.memory, &l, &h, &err), 0);
	assert_false(h.torn);
	boehm_heap_free(&h);
	image_put(&im, image_header(&im, im.headers - 1) + 0x1a, IMAGE_CYCLE - 1, 2);
	assert_int_equal(boehm_heap_read_now(&im.memory, &l, &h, &err), 0);
	assert_true(h.torn);
	boehm_heap_free(&h);
	image_end(&im);
}

static void read_spoiled(struct heapimage *im, const struct layout *l, uint32_t bad, size_t blocks)
{
	struct boehm_heap h;
	struct err err;
	assert_int_equal(boehm_heap_read_now(&im->memory, l, &h, &err), 0);
	assert_int_equal(h.bad_headers, bad);
	assert_int_equal(h.blocks_cnt, blocks);
	for (size_t i = 1; i < h.blocks_cnt; i++)
		assert_true(h.blocks[i].addr >= h.blocks[i - 1].addr + h.blocks[i - 1].bytes);
	boehm_heap_free(&h);
}

static void test_hostile_headers(void **state)
{
	struct heapimage im;
	struct layout l;
	(void)state;
	struct sample s = filled(&im, &l);
	image_put(&im, image_slot(s.atomic), UINT64_MAX - 100, 8); /* a header at the end of all addresses */
	read_spoiled(&im, &l, 1, 3);
	image_put(&im, image_slot(s.atomic), image_header(&im, 0), 8); /* another block's */
	read_spoiled(&im, &l, 1, 3);
	image_put(&im, image_slot(s.atomic), image_header(&im, 1), 8);
	static const uint64_t sizes[] = { 0, 7, 24, UINT64_MAX, 1ull << 46, 2049 };
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		image_put(&im, image_header(&im, 1) + 0x20, sizes[i], 8);
		read_spoiled(&im, &l, 1, 3);
	}
	image_put(&im, image_header(&im, 1) + 0x20, 16, 8);
	image_put(&im, image_header(&im, 0) + 0x20, 40960, 8); /* covers all the others */
	image_mark(&im, image_header(&im, 0), 256);
	read_spoiled(&im, &l, 5, 1);
	image_end(&im);
}

static void test_circles(void **state)
{
	struct heapimage im;
	struct layout l;
	struct boehm_heap h;
	struct err err;
	(void)state;
	filled(&im, &l);
	image_put(&im, IMAGE_BOTTOM + 0x2018, IMAGE_BOTTOM, 8);
	assert_int_equal(boehm_heap_read(&im.memory, &l, &h, &err), -E2BIG);
	assert_true(*err.text);
	image_end(&im);
}

/* --- census ------------------------------------------------------------------------------------- */

static const struct census_type *row_of(const struct census *c, uint32_t id)
{
	for (size_t i = 0; i < c->types_cnt; i++) {
		if (c->types[i].id == id)
			return &c->types[i];
	}
	return NULL;
}

static uint64_t objects_of(const struct census *c, uint32_t id)
{
	const struct census_type *row = row_of(c, id);
	return row ? row->cnt : 0;
}

static void put_string(struct heapimage *im, uint64_t at, uint32_t bytes)
{
	image_put(im, at, 1 | (uint64_t)bytes << 32, 8);
}

/* 48-byte objects: five of class 9, a buffer, a list of three free ones; 16: two strings, one that lies, one of class 9. */
static void fill_types(struct heapimage *im)
{
	uint64_t a = image_block(im, 48, HEAP_NORMAL, 0x1ff), b = image_block(im, 16, HEAP_ATOMIC, 0xf);
	for (uint64_t i = 0; i < 5; i++)
		image_put(im, a + i * 48, 9 | (i + 1) << 32, 8);
	image_put(im, a + 5 * 48, 0x7f0012345678, 8);
	image_put(im, a + 6 * 48, a + 7 * 48, 8);
	image_put(im, a + 7 * 48, a + 8 * 48, 8);
	put_string(im, b, 3);
	put_string(im, b + 16, 2);
	put_string(im, b + 32, 4);
	image_put(im, b + 48, 9, 8);
}

static void test_census(void **state)
{
	struct heapimage im;
	struct layout l;
	struct boehm_heap h;
	struct types t;
	struct census c;
	struct accounts a;
	struct err err;
	uint64_t *words;
	(void)state;
	image_begin(&im, LAYOUT_MARK_BYTES);
	fill_types(&im);
	assert_int_equal(types_begin(&t), 0);
	assert_int_equal(image_layout(&im, &l, &err), 0);
	assert_int_equal(boehm_heap_read(&im.memory, &l, &h, &err), 0);
	assert_int_equal(boehm_unlist(&im.memory, &h, &words), 0);
	assert_int_equal(census_take(&h, words, &t, false, &c, &err), 0);
	assert_int_equal(objects_of(&c, 9), 5);
	assert_int_equal(objects_of(&c, TYPE_ID_STRING), 2);
	assert_int_equal(objects_of(&c, CENSUS_BUFFER), 1);
	assert_int_equal(objects_of(&c, CENSUS_DATA), 2);
	assert_int_equal(h.listed_cnt, 3);
	assert_int_equal(h.listed_bytes, 3 * 48);
	assert_int_equal(c.doubted, 1);
	assert_int_equal(c.cnt, 10);
	assert_int_equal(c.bytes, 6 * 48 + 4 * 16);
	assert_int_equal(accounts_take(&h, &a), 0);
	assert_int_equal(a.live_bytes, c.bytes);
	assert_int_equal(a.classes[0].live + a.classes[1].live, c.cnt);
	accounts_free(&a);
	census_free(&c);
	/* A type that has no classes according to the compiler is none. */
	t.reference_max = 8;
	assert_int_equal(census_take(&h, words, &t, false, &c, &err), 0);
	assert_int_equal(objects_of(&c, 9), 0);
	census_free(&c);
	assert_int_equal(census_take(&h, words, &t, true, &c, &err), 0);
	assert_int_equal(objects_of(&c, CENSUS_BUFFER) + objects_of(&c, CENSUS_DATA), 10);
	census_free(&c);
	free(words);
	boehm_heap_free(&h);
	types_free(&t);
	image_end(&im);
}

/* Early instances of a class may have larger cells than later ones; twice the size is another type. */
static void test_census_of_two_sizes(void **state)
{
	struct heapimage im;
	struct layout l;
	struct boehm_heap h;
	struct types t;
	struct census c;
	struct err err;
	uint64_t *words;
	(void)state;
	image_begin(&im, LAYOUT_MARK_BYTES);
	uint64_t a = image_block(&im, 160, HEAP_NORMAL, 0x7), b = image_block(&im, 208, HEAP_NORMAL, 1);
	uint64_t d = image_block(&im, 320, HEAP_NORMAL, 1);
	for (uint64_t i = 0; i < 3; i++)
		image_put(&im, a + i * 160, 9 | i << 32, 8);
	image_put(&im, b, 9, 8);
	image_put(&im, d, 9, 8);
	assert_int_equal(types_begin(&t), 0);
	assert_int_equal(image_layout(&im, &l, &err), 0);
	assert_int_equal(boehm_heap_read(&im.memory, &l, &h, &err), 0);
	assert_int_equal(boehm_unlist(&im.memory, &h, &words), 0);
	assert_int_equal(census_take(&h, words, &t, false, &c, &err), 0);
	assert_int_equal(objects_of(&c, 9), 4);
	assert_int_equal(c.doubted, 1);
	free(words);
	census_free(&c);
	boehm_heap_free(&h);
	types_free(&t);
	image_end(&im);
}

/* A header that claims 2 TiB costs no table of them. */
static void test_one_claims_terabytes(void **state)
{
	struct heapimage im;
	struct layout l;
	struct boehm_heap h;
	struct heap_object o;
	struct err err;
	(void)state;
	image_begin(&im, LAYOUT_MARK_BYTES);
	fill(&im);
	uint64_t last = image_block(&im, 40000, HEAP_NORMAL, 1);
	assert_int_equal(image_layout(&im, &l, &err), 0);
	image_put(&im, image_header(&im, im.headers - 1) + 0x20, 1ull << 41, 8);
	assert_int_equal(boehm_heap_read(&im.memory, &l, &h, &err), 0);
	assert_true(h.heap_bytes > 1ull << 41);
	assert_null(h.pages);
	assert_true(boehm_heap_find(&h, last + 5, &o));
	assert_int_equal(o.base, last);
	boehm_heap_free(&h);
	image_end(&im);
}

static void test_accounts(void **state)
{
	struct heapimage im;
	struct layout l;
	struct boehm_heap h;
	struct accounts a;
	struct err err;
	uint32_t *pinned;
	(void)state;
	image_begin(&im, LAYOUT_MARK_BYTES);
	fill(&im);
	image_block(&im, 48, HEAP_NORMAL, 0xffffffffffff);
	image_block(&im, 48, HEAP_NORMAL, 0x1);
	assert_int_equal(image_layout(&im, &l, &err), 0);
	assert_int_equal(boehm_heap_read(&im.memory, &l, &h, &err), 0);
	assert_int_equal(accounts_take(&h, &a), 0);
	assert_int_equal(a.classes_cnt, 4);
	assert_int_equal(a.largest_gap, 8192);
	assert_int_equal(a.live_bytes, (2 + 48 + 1) * 48 + 8 * 16 + 10000 + 3 * 1360);
	assert_int_equal(a.live_bytes + a.slack_bytes + h.free_bytes + h.unmapped_bytes, h.heap_bytes);
	assert_int_equal(a.classes[1].size, 48);
	assert_int_equal(a.classes[1].blocks, 3);
	assert_int_equal(a.classes[1].sparse_blocks, 2);
	assert_int_equal(a.classes[2].size, 0);
	assert_int_equal(accounts_pinned(&h, 0.1, &pinned), 3);
	assert_int_equal(h.blocks[pinned[0]].live, 1);
	assert_int_equal(h.blocks[pinned[2]].live, 8);
	free(pinned);
	accounts_free(&a);
	boehm_heap_free(&h);
	image_end(&im);
}

/* --- names of types ----------------------------------------------------------------------------- */

static void text_is(const struct types *t, uint32_t id, const char *want)
{
	struct buf b = { 0 };
	types_text(t, id, &b);
	assert_string_equal(buf_str(&b), want);
	buf_free(&b);
}

static void test_list_of_the_compiler(void **state)
{
	static const char list[] = "CRYSTAL_DUMP_TYPE_ID\n{0 - 0}: Nil\n  {1 - 176}: Reference\r\n    {1 - 1}: String\n"
				   "    {171 - 171}: Foo\n    {20 - 22}: Array(T)\n{171 - 170}: Bad\n{172 - 172}: \n{7: X\n    "
				   "{172 - 172}: M::\033Foo";
	struct types t;
	struct err err;
	uint32_t ids[2];
	(void)state;
	assert_int_equal(types_begin(&t), 0);
	assert_int_equal(types_parse(&t, list, sizeof(list) - 1, "list", &err), 0);
	assert_int_equal(t.reference_max, 176);
	text_is(&t, 171, "Foo");
	text_is(&t, 22, "Array(T)");
	text_is(&t, 172, "M::\\x1bFoo");
	text_is(&t, 88, "(class 88)");
	assert_int_equal(types_get(&t, 1)->known, TYPE_ALWAYS);
	assert_int_equal(types_find(&t, "Foo", ids, 2), 1);
	assert_int_equal(ids[0], 171);
	assert_int_equal(types_find(&t, "Array", ids, 2), 0);
	types_free(&t);
}

#define CONSTANT(name, size, number)                                                                                   \
	__asm__(".pushsection .rodata\n.balign 8\n.type \"" name "\", @object\n.size \"" name "\", " #size "\n\"" name \
		"\": .quad " #number "\n.popsection\n")

CONSTANT("Shop::Cart(Int32):type_id", 4, 90);
CONSTANT("Nothing:type_id", 4, 0);
CONSTANT("Wide:type_id", 8, 91);
CONSTANT(":type_id", 4, 92);
CONSTANT("Foo:type_ids", 4, 93);

/* Of this very program. */
static void test_constants_of_the_compiler(void **state)
{
	struct types t;
	struct err err;
	(void)state;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf *e = elf_open(fd, "self", &err);
	struct memory self = { .tgid = (uint32_t)getpid() };
	assert_non_null(e);
	assert_int_equal(types_begin(&t), 0);
	assert_int_equal(types_read_symbols(&t, &self, e, 0), 0);
	assert_int_equal(t.names_cnt, 2);
	text_is(&t, 90, "Shop::Cart(Int32)");
	assert_int_equal(types_get(&t, 90)->known, TYPE_FROM_SYMBOLS);
	types_free(&t);
	elf_close(e);
	close(fd);
}

static void test_better_names_win(void **state)
{
	struct types t;
	(void)state;
	assert_int_equal(types_begin(&t), 0);
	types_put(&t, 5, "Learned", 7, TYPE_LEARNED);
	types_put(&t, 5, "Other", 5, TYPE_LEARNED);
	text_is(&t, 5, "Learned");
	types_put(&t, 5, "Compiler", 8, TYPE_FROM_COMPILER);
	types_put(&t, 5, "Symbol", 6, TYPE_FROM_SYMBOLS);
	text_is(&t, 5, "Compiler");
	types_put(&t, 1, "Strung", 6, TYPE_FROM_COMPILER);
	text_is(&t, 1, "String");
	types_free(&t);
}

static void test_names_asked_for(void **state)
{
	struct types t;
	struct buf b = { 0 };
	uint32_t ids[4];
	(void)state;
	assert_int_equal(types_begin(&t), 0);
	types_put(&t, 5, "Blog::Article", 13, TYPE_FROM_COMPILER);
	types_put(&t, 6, "Shop::Article", 13, TYPE_FROM_COMPILER);
	types_put(&t, 7, "Widget", 6, TYPE_FROM_COMPILER);
	assert_int_equal(types_find(&t, "Article", ids, 4), 2);
	types_nearest(&t, "widgte", &b);
	assert_string_equal(buf_str(&b), "Widget");
	buf_reset(&b);
	types_nearest(&t, "Zebra", &b);
	assert_string_equal(buf_str(&b), "");
	buf_reset(&b);
	types_nearest(&t, "article", &b);
	assert_string_equal(buf_str(&b), "Blog::Article, Shop::Article");
	buf_free(&b);
	types_free(&t);
}

/* No object has the type Array where some have Array(Int32). */
static void test_generic_types(void **state)
{
	static const char *const names[] = { "Array", "Array(Int32)", "Arrayed", "(Array | Nil)", "Hash(Int32, Array)", "Hash" };
	struct types t;
	struct map generic = { 0 };
	(void)state;
	assert_int_equal(types_begin(&t), 0);
	for (uint32_t i = 0; i < 6; i++)
		types_put(&t, 10 + i, names[i], strlen(names[i]), TYPE_FROM_COMPILER);
	assert_int_equal(types_generic(&t, &generic), 0);
	assert_int_equal(generic.count, 2);
	assert_non_null(map_get(&generic, 10));
	assert_non_null(map_get(&generic, 15));
	map_free(&generic);
	types_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_generic_types),
		cmocka_unit_test(test_reading_over_holes),
		cmocka_unit_test(test_reading_what_is_used),
		cmocka_unit_test(test_space),
		cmocka_unit_test(test_all_kinds_of_marks),
		cmocka_unit_test(test_what_is_no_layout),
		cmocka_unit_test(test_marks_alone),
		cmocka_unit_test(test_some_blocks),
		cmocka_unit_test(test_ways_to_some_blocks),
		cmocka_unit_test(test_waits_for_the_end_of_a_cycle),
		cmocka_unit_test(test_cycle_that_sleeps),
		cmocka_unit_test(test_hostile_headers),
		cmocka_unit_test(test_circles),
		cmocka_unit_test(test_census),
		cmocka_unit_test(test_census_of_two_sizes),
		cmocka_unit_test(test_one_claims_terabytes),
		cmocka_unit_test(test_accounts),
		cmocka_unit_test(test_list_of_the_compiler),
		cmocka_unit_test(test_constants_of_the_compiler),
		cmocka_unit_test(test_better_names_win),
		cmocka_unit_test(test_names_asked_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
