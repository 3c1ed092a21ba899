/* SPDX-License-Identifier: Apache-2.0 */
/* glibc: layouts, readings and sums of a malloc heap made by hand, sound, damaged, and changing while it is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "glibc/classes.h"
#include "glibc/sums.h"
#include "lib/mallocimage.h"

struct sample {
	uint64_t used, cache, cached[2], fast[2], unsorted, small, large, mapped, aligned, grown;
};

static struct sample fill(struct mallocimage *im)
{
	struct sample s = { 0 };
	mimage_begin(im);
	s.cache = mimage_cache(im);
	s.used = mimage_chunk(im, 0x70);
	for (int i = 0; i < 2; i++) {
		s.cached[i] = mimage_chunk(im, 0x30);
		mimage_to_cache(im, s.cache, s.cached[i], 1);
		s.fast[i] = mimage_chunk(im, 0x40);
		mimage_to_fastbin(im, s.fast[i], 2);
	}
	mimage_to_cache(im, s.cache, mimage_chunk(im, 0x50), 3);
	s.unsorted = mimage_chunk(im, 0x100);
	mimage_to_bin(im, s.unsorted, 0);
	mimage_chunk(im, 0x20);
	s.small = mimage_chunk(im, 0x110);
	mimage_to_bin(im, s.small, 0x110 / 16 - 1);
	mimage_chunk(im, 0x20);
	s.large = mimage_chunk(im, 0x9000);
	mimage_to_bin(im, s.large, 80);
	mimage_chunk(im, 0x400);
	s.mapped = mimage_map(im, 0x21000, 0);
	im->mapped += 0x3000; /* not the heap's */
	s.aligned = mimage_map_aligned(im, 0x20010, 0xff0, 0x21000);
	s.grown = mimage_map_aligned(im, 0x26010, 0x2ff0, 0x21000); /* by realloc, since */
	mimage_top(im);
	return s;
}

static enum chunk_state state_at(const struct glibc_heap *h, uint64_t addr)
{
	const struct glibc_chunk *c = glibc_chunk_at(h, addr);
	return c ? c->state : CHUNK_STATES;
}

static void test_each_chunk_is_what_it_is(void **state)
{
	struct mallocimage im;
	struct sample s = fill(&im);
	struct glibc_layout l;
	struct glibc_heap h;
	struct err err = { 0 };
	(void)state;
	assert_int_equal(mimage_layout(&im, &l, &err), 0);
	assert_int_equal(l.main_arena, MIMAGE_ARENA);
	assert_int_equal(l.bins, MIMAGE_BINS);
	assert_int_equal(l.mapped_bytes, MIMAGE_PAR);
	assert_int_equal(glibc_heap_read(&im.memory, &im.space, &l, true, &h, &err), 0);
	assert_int_equal(glibc_heap_settle(&h, &l), 0);
	assert_int_equal(state_at(&h, s.used), CHUNK_USED);
	assert_int_equal(state_at(&h, s.used + 16), CHUNK_STATES);
	assert_int_equal(state_at(&h, s.cache), CHUNK_USED);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(state_at(&h, s.cached[i]), CHUNK_TCACHE);
		assert_int_equal(state_at(&h, s.fast[i]), CHUNK_FASTBIN);
	}
	assert_int_equal(state_at(&h, s.unsorted), CHUNK_UNSORTED);
	assert_int_equal(state_at(&h, s.small), CHUNK_SMALL);
	assert_int_equal(state_at(&h, s.large), CHUNK_LARGE);
	assert_int_equal(state_at(&h, im.next), CHUNK_TOP);
	assert_int_equal(h.mapped_cnt, 3);
	assert_int_equal(h.mapped[0].chunk.addr, s.mapped);
	assert_int_equal(h.mapped[1].chunk.addr, s.aligned);
	assert_int_equal(h.mapped[1].start, s.aligned - 0xff0);
	assert_int_equal(h.mapped[2].chunk.addr, s.grown);
	assert_int_equal(h.mapped[2].chunk.size, 0x26010);
	assert_int_equal(h.unread_bytes, 0);
	glibc_heap_free(&h);
	mimage_end(&im);
}

static void test_sums(void **state)
{
	struct mallocimage im;
	fill(&im);
	struct glibc_layout l;
	struct glibc_heap h;
	struct glibc_sums s;
	struct pages all = { .fd = -1 };
	(void)state;
	assert_int_equal(mimage_layout(&im, &l, NULL), 0);
	assert_int_equal(glibc_heap_read(&im.memory, &im.space, &l, true, &h, NULL), 0);
	assert_int_equal(glibc_heap_settle(&h, &l), 0);
	glibc_sums_take(&h, ALL_ARENAS, &all, &s);
	uint64_t sum = 0;
	for (int i = 0; i < CHUNK_STATES; i++) {
		assert_int_equal(s.of[i].bytes, s.of[i].resident);
		sum += s.of[i].bytes;
	}
	assert_int_equal(sum, MIMAGE_HEAP_END - MIMAGE_HEAP);
	assert_int_equal(s.arena_bytes, sum);
	assert_int_equal(s.of[CHUNK_TCACHE].cnt, 3);
	assert_int_equal(s.of[CHUNK_LARGE].bytes, 0x9000);
	assert_int_equal(s.mapped.bytes, 0x21000 + 0x21000 + 0x29000);
	/* Of the large one all whole pages behind its header; the top's, less the smallest chunk. */
	uint64_t top = MIMAGE_HEAP_END - im.next;
	assert_int_equal(s.trimmable, 0x8000 + ((top - 33) & ~4095ull));
	glibc_heap_free(&h);
	mimage_end(&im);
}

static void test_classes_of_sizes(void **state)
{
	struct buf text = { 0 };
	(void)state;
	static const struct {
		uint64_t usable;
		const char *text;
	} sizes[] = { { 24, "24 bytes" }, { 1032, "1032 bytes" }, { 1048, "1 to 2 KiB" }, { 5ull << 20, "4 to 8 MiB" } };
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		buf_reset(&text);
		glibc_size_text(glibc_size_class(sizes[i].usable), &text);
		assert_string_equal(buf_str(&text), sizes[i].text);
	}
	buf_free(&text);
}

/* --- damaged and changing ------------------------------------------------------------------------- */

static int read_it(struct mallocimage *im, bool still, struct glibc_heap *h, struct err *err)
{
	struct glibc_layout l;
	int rc = mimage_layout(im, &l, err);
	rc = rc ?: glibc_heap_read(&im->memory, &im->space, &l, still, h, err);
	if (!rc)
		glibc_heap_settle(h, &l);
	return rc;
}

static void test_damaged_sizes_are_refused(void **state)
{
	static const uint64_t sizes[] = { 0x11, 0x1000001, 0x7fffffffffffff01ull, 0x39, ~0ull };
	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct mallocimage im;
		struct sample s = fill(&im);
		struct glibc_heap h;
		struct err err = { 0 };
		mimage_put(&im, s.used + 8, sizes[i]);
		int rc = read_it(&im, true, &h, &err);
		assert_true(rc == -EILSEQ || (!rc && h.odd));
		if (!rc)
			glibc_heap_free(&h);
		mimage_end(&im);
	}
}

static void test_lists_that_do_not_fit_are_counted(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		struct mallocimage im;
		struct sample s = fill(&im);
		struct glibc_heap h;
		struct err err = { 0 };
		const uint64_t where[] = { s.cached[0] + 16, s.fast[0] + 16, s.small + 16, MIMAGE_PAR, MIMAGE_ARENA };
		mimage_put(&im, where[i], i == 4 ? 1 : i == 3 ? 0x5000 : MIMAGE_HEAP + 0x20);
		int rc = read_it(&im, false, &h, &err);
		assert_true(rc == 0 && h.odd > 0 && *h.first_odd.text);
		glibc_heap_free(&h);
		/* A held lock means that the heap must not be read now. */
		if (i == 4)
			assert_int_equal(read_it(&im, true, &h, &err), -EAGAIN);
		mimage_end(&im);
	}
}

static void test_what_changes_while_it_is_read(void **state)
{
	struct mallocimage im;
	struct sample s = fill(&im);
	struct glibc_heap h;
	struct err err = { 0 };
	(void)state;
	/* Wrong at first: the chunk at which the reader is was just split. It goes back and finds the new ones. */
	mimage_put(&im, s.large + 8, 0x7777771);
	im.changes_word = s.large + 8;
	im.changes_to = 0x9001;
	im.changes_at = 9;
	assert_int_equal(read_it(&im, false, &h, &err), 0);
	assert_int_equal(state_at(&h, s.large), CHUNK_LARGE);
	glibc_heap_free(&h);
	mimage_end(&im);
}

static void test_no_arena(void **state)
{
	struct mallocimage im;
	struct glibc_layout l;
	struct err err = { 0 };
	(void)state;
	fill(&im);
	const struct space_region file = { .ino = 7 };
	assert_int_equal(glibc_layout_find(&im.memory, &im.space, &file, 42, &l, &err), -ENOTSUP);
	mimage_put(&im, MIMAGE_ARENA + 0x870, MIMAGE_HEAP); /* its list leads elsewhere */
	assert_int_equal(mimage_layout(&im, &l, &err), -ENOTSUP);
	memset(im.bytes, 0, 0x10000);
	mimage_put(&im, MIMAGE_ARENA + 0x870, MIMAGE_ARENA);
	assert_int_equal(mimage_layout(&im, &l, &err), -ENODATA);
	mimage_end(&im);
}

/* A thread lost its processor between the two words of a bin. */
static void test_bins_half_changed(void **state)
{
	struct mallocimage im;
	struct glibc_layout l;
	struct err err = { 0 };
	(void)state;
	struct sample s = fill(&im);
	assert_int_equal(mimage_layout(&im, &l, &err), 0);
	const uint64_t bin = l.main_arena + l.bins + 20 * 16;
	for (uint64_t k = 0; k < 3; k++) {
		mimage_put(&im, bin + k * 16, s.used);
		assert_int_equal(mimage_layout(&im, &l, &err), k < 2 ? 0 : -ENOTSUP);
	}
	mimage_end(&im);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_chunk_is_what_it_is),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_classes_of_sizes),
		cmocka_unit_test(test_damaged_sizes_are_refused),
		cmocka_unit_test(test_lists_that_do_not_fit_are_counted),
		cmocka_unit_test(test_what_changes_while_it_is_read),
		cmocka_unit_test(test_no_arena),
		cmocka_unit_test(test_bins_half_changed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
