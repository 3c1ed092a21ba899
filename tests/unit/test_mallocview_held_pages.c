/* SPDX-License-Identifier: Apache-2.0 */
/* mallocview: pages that few blocks keep, of heaps made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "mallocview/held_pages.h"

#define START 0x10000ull

static struct pages all_resident = { .fd = -1 };

struct made {
	struct glibc_heap heap;
	struct glibc_piece piece;
	struct glibc_chunk chunks[16];
	uint64_t end;
};

static void begin(struct made *m, uint64_t start)
{
	*m = (struct made){ .end = start };
	m->piece.start = start;
	m->heap.pieces = &m->piece;
	m->heap.pieces_cnt = 1;
	m->heap.chunks = m->chunks;
}

static void put(struct made *m, uint64_t size, enum chunk_state state)
{
	m->chunks[m->heap.chunks_cnt++] = (struct glibc_chunk){ .addr = m->end, .size = size, .state = state };
	m->piece.cnt = m->heap.chunks_cnt;
	m->end += size;
	m->piece.end = m->end;
}

static void test_a_tenth_of_a_page(void **state)
{
	struct made m;
	struct held_pages p;
	(void)state;
	begin(&m, START);
	put(&m, 400, CHUNK_USED);
	put(&m, 3696, CHUNK_UNSORTED);
	put(&m, 416, CHUNK_USED); /* more than a tenth */
	put(&m, 3680, CHUNK_UNSORTED);
	put(&m, 48, CHUNK_TCACHE); /* not in use */
	put(&m, 4048, CHUNK_UNSORTED);
	assert_int_equal(held_pages_take(&m.heap, &all_resident, &p), 0);
	assert_int_equal(p.all_cnt, 1);
	assert_int_equal(p.all[0].addr, START);
	assert_int_equal(p.used, 400);
	assert_int_equal(p.blocks, 1);
	assert_int_equal(p.block_bytes, 392);
	held_pages_free(&p);
}

/* A block keeps its first and its last page; those between are full. */
static void test_blocks_across_pages(void **state)
{
	struct made m;
	struct held_pages p;
	struct held_page *part[2];
	(void)state;
	begin(&m, START);
	put(&m, 4000, CHUNK_UNSORTED);
	put(&m, 96 + 8192 + 64, CHUNK_USED);
	put(&m, 32, CHUNK_USED);
	put(&m, 4000, CHUNK_TOP);
	assert_int_equal(held_pages_take(&m.heap, &all_resident, &p), 0);
	assert_int_equal(p.all_cnt, 2);
	assert_int_equal(p.all[0].used, 96);
	assert_int_equal(p.all[1].addr, START + 3 * 4096);
	assert_int_equal(p.all[1].used, 96);
	assert_int_equal(p.blocks, 2);
	assert_true(held_pages_of(&p, &m.chunks[1], part));
	assert_ptr_equal(part[0], &p.all[0]);
	assert_ptr_equal(part[1], &p.all[1]);
	assert_true(held_pages_of(&p, &m.chunks[2], part));
	assert_null(part[1]);
	held_pages_free(&p);
}

/* An arena's own table lies before its first chunk. */
static void test_what_is_mallocs_own(void **state)
{
	struct made m;
	struct held_pages p;
	(void)state;
	begin(&m, START + 2000);
	put(&m, 32, CHUNK_USED);
	put(&m, 2064, CHUNK_TOP);
	assert_int_equal(held_pages_take(&m.heap, &all_resident, &p), 0);
	assert_int_equal(p.all_cnt, 0);
	assert_int_equal(p.blocks, 0);
	held_pages_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_tenth_of_a_page),
		cmocka_unit_test(test_blocks_across_pages),
		cmocka_unit_test(test_what_is_mallocs_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
