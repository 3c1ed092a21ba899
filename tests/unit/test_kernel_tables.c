/* SPDX-License-Identifier: Apache-2.0 */
/* kernel/tables with real BPF maps: what a walk finds in them. Skipped where BPF cannot be used. */
#include <setjmp.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/bpf.h>

#include "alys.h"
#include "kernel/tables.h"
#include "rows.h"

#define CHUNKS 2
#define TGID 77
#define BIAS 0x7f0000000000ull

struct shop {
	struct table_maps maps;
	struct tables *tables;
	struct alys_chunk *chunk; /* a copy */
	struct alys_mapping *mappings;
};

static int make_outer(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, inner, .map_flags = BPF_F_MMAPABLE);
	int like = bpf_map_create(BPF_MAP_TYPE_ARRAY, "t_chunk", 4, sizeof(struct alys_chunk), 1, &inner);
	LIBBPF_OPTS(bpf_map_create_opts, outer, .inner_map_fd = (uint32_t)like);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "t_chunks", 4, 4, CHUNKS, &outer);
	if (like >= 0)
		close(like);
	return fd;
}

/* Without root there are no maps; with root they have to work. */
static int open_shop(struct shop *s, uint64_t keep_ns)
{
	LIBBPF_OPTS(bpf_map_create_opts, shared, .map_flags = BPF_F_MMAPABLE);
	struct err err = { 0 };
	if (geteuid() != 0)
		return -1;
	*s = (struct shop){ .maps = { .keep_ns = keep_ns } };
	s->maps.chunks = make_outer();
	s->maps.specs = bpf_map_create(BPF_MAP_TYPE_ARRAY, "t_specs", 4, sizeof(struct alys_spec), ALYS_MAX_SPECS, NULL);
	s->maps.mappings =
		bpf_map_create(BPF_MAP_TYPE_ARRAY, "t_mappings", 4, sizeof(struct alys_mapping), ALYS_MAX_MAPPINGS, &shared);
	s->maps.map_lists = bpf_map_create(BPF_MAP_TYPE_HASH, "t_lists", 4, sizeof(struct alys_map_list), 64, NULL);
	assert_true(s->maps.chunks >= 0 && s->maps.specs >= 0 && s->maps.mappings >= 0 && s->maps.map_lists >= 0);
	s->tables = tables_new(&s->maps, &err);
	assert_non_null(s->tables);
	s->chunk = malloc(sizeof(*s->chunk));
	s->mappings = calloc(1, sizeof(*s->mappings));
	return 0;
}

#define OPEN_SHOP(s, keep)                                      \
	do {                                                    \
		if (open_shop(s, keep)) {                       \
			print_message("skipped: needs root\n"); \
			skip();                                 \
		}                                               \
	} while (0)

static void close_shop(struct shop *s)
{
	tables_free(s->tables);
	close(s->maps.chunks);
	close(s->maps.specs);
	close(s->maps.mappings);
	close(s->maps.map_lists);
	free(s->chunk);
	free(s->mappings);
}

/* A table of so many pages with so many rows each; the info of a row tells page, row and file. */
static struct unwind_table *make_table(uint64_t page0, size_t pages, size_t each, uint32_t salt)
{
	struct unwind_table *t = calloc(1, sizeof(*t));
	t->page0 = page0;
	t->pages_cnt = pages;
	t->rows_cnt = pages * each;
	t->pages = calloc(pages + 1, sizeof(*t->pages));
	t->rows = calloc(t->rows_cnt, sizeof(*t->rows));
	for (size_t p = 0; p <= pages; p++)
		t->pages[p] = (uint32_t)(p * each);
	for (size_t r = 0; r < t->rows_cnt; r++)
		t->rows[r] = (uint32_t)(r % each) << ALYS_ROW_PC_SHIFT | (uint32_t)((r * 7 + salt) & 0x3ffff);
	t->counts.plain = t->rows_cnt;
	return t;
}

static int put(struct shop *s, uint64_t key, const struct unwind_table *t)
{
	struct err err = { 0 };
	return tables_put(s->tables, key, t, &err);
}

static int map(struct shop *s, uint32_t tgid, const struct table_mapping *list, size_t n)
{
	struct err err = { 0 };
	return tables_put_mappings(s->tables, tgid, list, n, &err);
}

static struct table_mapping mapping_of(uint64_t key, const struct unwind_table *t, uint64_t bias)
{
	uint64_t lo = (t->page0 << ALYS_PAGE_SHIFT) + bias;
	return (struct table_mapping){ lo, lo + (t->pages_cnt << ALYS_PAGE_SHIFT), bias, key };
}

static bool read_list(const struct shop *s, uint32_t tgid, struct alys_map_list *list)
{
	return bpf_map_lookup_elem(s->maps.map_lists, &tgid, list) == 0;
}

static void read_chunk(struct shop *s, uint32_t index)
{
	uint32_t id, zero = 0;
	assert_int_equal(bpf_map_lookup_elem(s->maps.chunks, &index, &id), 0);
	int fd = bpf_map_get_fd_by_id(id);
	assert_true(fd >= 0);
	assert_int_equal(bpf_map_lookup_elem(fd, &zero, s->chunk), 0);
	close(fd);
}

/* All rows of a table, as reached from the list of a process, piece by piece; returns the number of pieces. */
static size_t check_rows(struct shop *s, uint32_t tgid, const struct unwind_table *t, uint64_t bias)
{
	struct alys_map_list list;
	size_t pieces = 0;
	uint64_t next = (t->page0 << ALYS_PAGE_SHIFT) + bias;
	assert_true(read_list(s, tgid, &list));
	for (uint32_t i = list.first; i < list.first + list.n; i++) {
		struct alys_mapping m;
		assert_int_equal(bpf_map_lookup_elem(s->maps.mappings, &i, &m), 0);
		if (m.start != next || !m.pages)
			continue;
		assert_int_equal(m.bias, bias);
		next = m.end;
		pieces++;
		read_chunk(s, m.chunk);
		const uint32_t *w = s->chunk->w + m.page_off;
		for (uint32_t p = 0; p < m.pages; p++) {
			size_t page = m.page0 - t->page0 + p, n = t->pages[page + 1] - t->pages[page];
			assert_int_equal(w[p + 1] - w[p], n);
			assert_true(m.page_off + w[p + 1] <= ALYS_CHUNK_WORDS);
			assert_memory_equal(w + w[p], t->rows + t->pages[page], n * sizeof(uint32_t));
		}
	}
	assert_int_equal(next, ((t->page0 + t->pages_cnt) << ALYS_PAGE_SHIFT) + bias);
	return pieces;
}

static void test_file_is_found(void **state)
{
	struct shop s;
	(void)state;
	OPEN_SHOP(&s, 0);
	struct unwind_table *t = make_table(16, 20, 30, 1);
	struct table_mapping m = mapping_of(5, t, BIAS);
	assert_int_equal(put(&s, 5, t), 0);
	assert_int_equal(put(&s, 5, t), -EEXIST);
	assert_true(tables_has(s.tables, 5));
	assert_int_equal(map(&s, TGID, &m, 1), 0);
	assert_int_equal(check_rows(&s, TGID, t, BIAS), 1);
	struct tables_counts c = tables_counts(s.tables);
	assert_int_equal(c.files, 1);
	assert_int_equal(c.bytes, (20 + 1 + 20 * 30) * 4);
	assert_int_equal(c.rows.plain, 20 * 30);
	unwind_free(t);
	close_shop(&s);
}

/* One chunk takes 2^20 words, so this one needs two, and a mapping for each. */
static void test_big_file_is_split(void **state)
{
	struct shop s;
	(void)state;
	OPEN_SHOP(&s, 0);
	struct unwind_table *t = make_table(3, 1500, 1000, 2);
	struct table_mapping m = mapping_of(5, t, BIAS);
	assert_int_equal(put(&s, 5, t), 0);
	assert_int_equal(map(&s, TGID, &m, 1), 0);
	assert_int_equal(check_rows(&s, TGID, t, BIAS), 2);
	assert_int_equal(tables_counts(s.tables).chunks, 2);
	unwind_free(t);
	close_shop(&s);
}

static void test_list_is_sorted_and_replaced(void **state)
{
	struct shop s;
	struct alys_map_list before, after;
	(void)state;
	OPEN_SHOP(&s, 0);
	struct unwind_table *a = make_table(0, 4, 10, 3), *b = make_table(0, 6, 10, 4);
	struct table_mapping m[] = { mapping_of(2, b, 2 * BIAS / 3), mapping_of(1, a, BIAS / 3), { 1, 2, 0, 99 } };
	assert_int_equal(put(&s, 1, a) | put(&s, 2, b), 0);
	assert_int_equal(map(&s, TGID, m, 3), 0);
	assert_int_equal(check_rows(&s, TGID, a, BIAS / 3), 1);
	assert_int_equal(check_rows(&s, TGID, b, 2 * BIAS / 3), 1);
	assert_true(read_list(&s, TGID, &before));
	uint64_t last = 0;
	for (uint32_t i = before.first; i < before.first + before.n; i++) {
		assert_int_equal(bpf_map_lookup_elem(s.maps.mappings, &i, s.mappings), 0);
		assert_true(s.mappings->start >= last);
		last = s.mappings->end;
	}
	assert_int_equal(map(&s, TGID, m, 1), 0);
	assert_true(read_list(&s, TGID, &after));
	assert_int_equal(before.n, 3);
	assert_int_equal(after.n, 1);
	/* A walk with the old list still finds it, and cached entries no longer match. */
	assert_true(after.first >= before.first + before.n);
	assert_true(after.salt != before.salt);
	assert_int_equal(bpf_map_lookup_elem(s.maps.mappings, &before.first, s.mappings), 0);
	assert_int_equal(s.mappings->start, 1);
	tables_drop_mappings(s.tables, TGID);
	assert_false(read_list(&s, TGID, &after));
	unwind_free(a);
	unwind_free(b);
	close_shop(&s);
}

/* Two chunks, and files that take two thirds of one: only dropped ones make room for the third. */
static void test_room_is_used_again(void **state)
{
	struct shop s;
	(void)state;
	OPEN_SHOP(&s, 1);
	struct unwind_table *t = make_table(0, 1400, 500, 5);
	struct table_mapping m = mapping_of(1, t, BIAS), none = { 1, 2, 0, 0 };
	for (uint64_t key = 1; key <= 2; key++) {
		m.file = key;
		assert_int_equal(put(&s, key, t), 0);
		assert_int_equal(map(&s, TGID + (uint32_t)key, &m, 1), 0);
	}
	assert_int_equal(put(&s, 3, t), -ENOSPC);
	assert_false(tables_has(s.tables, 3));
	assert_int_equal(map(&s, TGID + 1, &none, 1), 0);
	assert_true(tables_has(s.tables, 1)); /* until its space is needed */
	assert_int_equal(put(&s, 3, t), 0);
	assert_false(tables_has(s.tables, 1));
	m.file = 3;
	assert_int_equal(map(&s, TGID, &m, 1), 0);
	check_rows(&s, TGID, t, BIAS);
	check_rows(&s, TGID + 2, t, BIAS);
	tables_drop_mappings(s.tables, TGID + 2);
	assert_int_equal(put(&s, 4, t), 0);
	assert_false(tables_has(s.tables, 2));
	assert_int_equal(tables_counts(s.tables).chunks, CHUNKS);
	unwind_free(t);
	close_shop(&s);
}

/* A walk may still use rows that were released a moment ago. */
static void test_rows_stay_for_a_while(void **state)
{
	struct shop s;
	(void)state;
	OPEN_SHOP(&s, 0);
	struct unwind_table *t = make_table(0, 1400, 700, 6);
	struct table_mapping m = mapping_of(1, t, BIAS);
	assert_int_equal(put(&s, 1, t) | put(&s, 2, t), 0);
	assert_int_equal(map(&s, TGID, &m, 1), 0);
	tables_drop_mappings(s.tables, TGID);
	assert_int_equal(put(&s, 3, t), -ENOSPC);
	assert_true(tables_has(s.tables, 1));
	assert_int_equal(map(&s, TGID, &m, 1), 0); /* the same file again costs nothing */
	check_rows(&s, TGID, t, BIAS);
	unwind_free(t);
	close_shop(&s);
}

/* Many small files come and go in changing order; what is mapped stays right, and nothing leaks. */
static void test_coming_and_going(void **state)
{
	enum { FILES = 24, ROUNDS = 400 };
	struct unwind_table *t[FILES];
	struct shop s;
	(void)state;
	OPEN_SHOP(&s, 1);
	srand(4711);
	for (size_t i = 0; i < FILES; i++)
		t[i] = make_table(i, 20 + 15 * i, 200 + 25 * i, (uint32_t)i);
	for (int round = 0; round < ROUNDS; round++) {
		uint32_t a = (uint32_t)rand() % FILES, b = (uint32_t)rand() % FILES;
		uint32_t tgid = TGID + (uint32_t)rand() % 4;
		struct table_mapping m[] = { mapping_of(a + 1, t[a], BIAS), mapping_of(b + 1, t[b], BIAS / 2) };
		if (tables_has(s.tables, a + 1) || !put(&s, a + 1, t[a])) {
			bool second = b != a && (tables_has(s.tables, b + 1) || !put(&s, b + 1, t[b]));
			if (!tables_has(s.tables, a + 1)) /* evicted for the second */
				continue;
			assert_int_equal(map(&s, tgid, m, second ? 2 : 1), 0);
			if (round % 20 == 0)
				check_rows(&s, tgid, t[a], BIAS);
		}
	}
	for (uint32_t i = 0; i < 4; i++)
		tables_drop_mappings(s.tables, TGID + i);
	struct unwind_table *whole = make_table(0, 1400, 680, 8);
	for (uint64_t key = 101; key < 101 + CHUNKS; key++) {
		struct table_mapping m = mapping_of(key, whole, BIAS);
		assert_int_equal(put(&s, key, whole), 0);
		assert_int_equal(map(&s, TGID + (uint32_t)key, &m, 1), 0);
		check_rows(&s, TGID + (uint32_t)key, whole, BIAS);
	}
	assert_true(tables_counts(s.tables).bytes <= CHUNKS * sizeof(struct alys_chunk));
	unwind_free(whole);
	for (size_t i = 0; i < FILES; i++)
		unwind_free(t[i]);
	close_shop(&s);
}

static void test_file_without_rows(void **state)
{
	struct shop s;
	struct alys_map_list list;
	struct table_mapping m = { 0x1000, 0x2000, 0, 9 };
	(void)state;
	OPEN_SHOP(&s, 0);
	assert_int_equal(put(&s, 9, NULL), 0);
	assert_true(tables_has(s.tables, 9));
	assert_int_equal(map(&s, TGID, &m, 1), 0);
	assert_true(read_list(&s, TGID, &list));
	assert_int_equal(list.n, 1);
	assert_int_equal(bpf_map_lookup_elem(s.maps.mappings, &list.first, s.mappings), 0);
	assert_int_equal(s.mappings->pages, 0);
	assert_int_equal(s.mappings->end, 0x2000);
	close_shop(&s);
}

/* The walk has one list of specs for all files. */
static void test_specs_are_shared(void **state)
{
	struct shop s;
	struct alys_spec specs[2] = { { .off = 8, .base_bp = 1 }, { .off = 16, .deref = 1 } }, got;
	(void)state;
	OPEN_SHOP(&s, 0);
	struct unwind_table *t = make_table(0, 1, 2, 7);
	t->specs = specs;
	for (uint64_t key = 1; key <= 2; key++) {
		struct table_mapping m = mapping_of(key, t, BIAS * key);
		struct alys_map_list list;
		t->specs_cnt = key;
		t->rows[1] = 1u << ALYS_ROW_PC_SHIFT | ALYS_ROW_SPECIAL_OF(ALYS_ROW_SPEC, key - 1);
		assert_int_equal(put(&s, key, t), 0);
		assert_int_equal(map(&s, TGID, &m, 1), 0);
		assert_true(read_list(&s, TGID, &list));
		assert_int_equal(bpf_map_lookup_elem(s.maps.mappings, &list.first, s.mappings), 0);
		read_chunk(&s, s.mappings->chunk);
		uint32_t row = s.chunk->w[s.mappings->page_off + s.chunk->w[s.mappings->page_off] + 1];
		uint32_t index = (row & ALYS_ROW_INFO & ~ALYS_ROW_SPECIAL) >> ALYS_ROW_AUX_SHIFT;
		assert_int_equal(bpf_map_lookup_elem(s.maps.specs, &index, &got), 0);
		assert_memory_equal(&got, &specs[key - 1], sizeof(got));
	}
	assert_int_equal(tables_counts(s.tables).specs, 2);
	t->specs = NULL;
	unwind_free(t);
	close_shop(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file_is_found),
		cmocka_unit_test(test_big_file_is_split),
		cmocka_unit_test(test_list_is_sorted_and_replaced),
		cmocka_unit_test(test_room_is_used_again),
		cmocka_unit_test(test_rows_stay_for_a_while),
		cmocka_unit_test(test_coming_and_going),
		cmocka_unit_test(test_file_without_rows),
		cmocka_unit_test(test_specs_are_shared),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
