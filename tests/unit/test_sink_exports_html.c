/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page's bytes: hostile names in it, and its size. The pages stay in the folder
 * "sink" beside this program, where tests/e2e/test_html.py opens them in a browser.
 * ALYS_TEST_EVENTS: events of the large one.
 */
#include "unit/sink_recordings.h"

#include <time.h>

#include "sink/cells.h"

#define BIG_STACKS 50000
#define BIG_FUNCTIONS 6000
#define BIG_DEPTH 30

static char out_dir[PATH_MAX];

static void write_page(const char *name, const struct buf *b)
{
	char path[PATH_MAX + 64];
	snprintf(path, sizeof(path), "%s/%s.html", out_dir, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(b->data, 1, b->len, f), b->len);
	assert_int_equal(fclose(f), 0);
}

static bool has(const struct buf *b, const char *text)
{
	return memmem(b->data, b->len, text, strlen(text));
}

static struct buf page_of(struct recording r, const char *name, const struct sink_options *o)
{
	struct buf b = { 0 };
	render(&r, sink_find("html"), o, &b);
	assert_false(b.failed);
	write_page(name, &b);
	forget(&r);
	return b;
}

/* Inlined functions with the same name in one file and in two, and a function with lines from two files. */
static struct recording record_names(void)
{
	static const struct {
		const char *name, *file;
		uint32_t line, size;
	} at[] = {
		{ "new", "/src/a.cr", 3, 400 },        { "new", "/src/a.cr", 9, 300 },
		{ "initialize", "/src/b.cr", 5, 200 }, { "initialize", "/src/c.cr", 5, 100 },
		{ "Pool#grow", "/src/a.cr", 20, 90 },  { "Pool#grow", "/src/b.cr", 21, 60 },
		{ "only", "/src/a.cr", 30, 10 },
	};
	static struct event events[LEN(at)];
	const struct proc p = { .id = { 1 }, .tgid = 1, .comm = "names", .exe = "/bin/names" };
	struct recording r = { .c = catalog_new() };
	assert_int_equal(catalog_put_proc(r.c, &p), 0);
	put_module(r.c, 1, "/bin/names", 20);
	put_mapping(r.c, 1, 1, 1, SHOP_BIAS);
	put_module(r.c, 2, "/usr/lib/libc.so.6", 20);
	put_mapping(r.c, 2, 1, 2, LIBC_BIAS);
	put_symbol(r.c, 2, 0x1100, "malloc", NULL, 0);
	for (uint32_t i = 0; i < LEN(at); i++) {
		struct symbol both[] = {
			{ at[i].name, at[i].file, at[i].line, 1, SYMBOL_EXACT, SYMBOL_OWNER_UNKNOWN, true },
			{ "App#run", "/src/app.cr", i + 1, 1, SYMBOL_EXACT, SYMBOL_OWNER_UNKNOWN, false },
		};
		struct symbols s = { 2, both };
		const struct frame f[] = { { { 2 }, 0x1100 }, { { 1 }, 0x1001 + i } };
		assert_int_equal(catalog_put_symbols(r.c, (struct module_id){ 1 }, 0x1000 + i, &s), 0);
		put_stack(r.c, i + 1, 1, f, LEN(f));
		events[i] = (struct event){ .kind = EVENT_ALLOC,
					    .proc = { 1 },
					    .stack = { i + 1 },
					    .time_ns = SECOND * (i + 1),
					    .addr = 16 * (i + 1),
					    .size = at[i].size };
	}
	put_count(r.c, "hits", COUNT_HIT, LEN(at));
	put_count(r.c, "recorded", COUNT_RECORDED, LEN(at));
	put_count(r.c, "failed", COUNT_SKIPPED, 0);
	put_count(r.c, "ring-full", COUNT_LOST, 0);
	replay(&r, events, LEN(at));
	return r;
}

static void pages_are_whole(void **state)
{
	const struct sink_options o = { 0 };
	(void)state;
	struct buf b = page_of(record_shop(), "shop", &o);
	assert_true(has(&b, "<!doctype html>"));
	assert_true(has(&b, "</html>"));
	assert_true(has(&b, "{\"title\":\"/usr/bin/shop\""));
	assert_true(has(&b, "hits 9 = recorded 7 + skipped 2 (nested 2) + lost 0"));
	assert_true(has(&b, "\"peak\":{\"bytes\":5160,\"blocks\":3,\"ns\":1000000005}"));
	assert_false(has(&b, "https://"));
	buf_free(&b);
	b = page_of(record_names(), "names", &o);
	buf_free(&b);
	b = page_of(record_fleet(), "fleet", &o);
	assert_true(has(&b, "\"errors\":{\"live\":5677,\"alloc\":5677,\"peak\":5677}"));
	assert_true(has(&b, "\"sampled\":true,\"lost\":12,\"lost_frees\":12,\"unseen_frees\":true"));
	buf_free(&b);
	struct recording large = record_shop();
	assert_int_equal(catalog_put_meta(large.c, "min_size", "64"), 0);
	b = page_of(large, "large", &o);
	assert_true(has(&b, "\"min_size\":64,"));
	buf_free(&b);
	static const struct event shrinks[] = {
		{ .kind = EVENT_ALLOC, .proc = { 1 }, .stack = { 1 }, .time_ns = 5 * SECOND + 1, .addr = 16, .size = 100 },
		{ .kind = EVENT_ALLOC, .proc = { 1 }, .stack = { 1 }, .time_ns = 5 * SECOND + 2, .addr = 32, .size = 100 },
		{ .kind = EVENT_FREE, .proc = { 1 }, .time_ns = 7 * SECOND, .addr = 16 },
	};
	struct recording shrinking = record_shop();
	shrinking.events = shrinks;
	shrinking.n = LEN(shrinks);
	b = page_of(shrinking, "shrinking", &o);
	buf_free(&b);
	static const struct event goes_on[] = {
		{ .kind = EVENT_ALLOC,
		  .flags = EVENT_F_CARRIED,
		  .proc = { 1 },
		  .stack = { 1 },
		  .time_ns = 5 * SECOND,
		  .enter_ns = 2 * SECOND,
		  .addr = 16,
		  .size = 1000 },
		{ .kind = EVENT_ALLOC, .proc = { 1 }, .stack = { 1 }, .time_ns = 6 * SECOND, .addr = 32, .size = 100 },
		{ .kind = EVENT_FREE, .proc = { 1 }, .time_ns = 8 * SECOND, .addr = 16 },
	};
	struct recording going = record_shop();
	going.events = goes_on;
	going.n = LEN(goes_on);
	b = page_of(going, "carried", &o);
	buf_free(&b);
	struct recording empty = { .c = catalog_new() };
	replay(&empty, NULL, 0);
	b = page_of(empty, "empty", &(struct sink_options){ .title = "Nothing & <nobody>" });
	assert_true(has(&b, "{\"title\":\"Nothing \\u0026 \\u003cnobody\\u003e\""));
	buf_free(&b);
}

static void same_input_same_bytes(void **state)
{
	const struct sink_options o = { 0 };
	struct buf a = page_of(record_fleet(), "fleet", &o), b = page_of(record_fleet(), "fleet", &o);
	(void)state;
	assert_int_equal(a.len, b.len);
	assert_memory_equal(a.data, b.data, a.len);
	buf_free(&a);
	buf_free(&b);
}

/* Names of frames are in the packed part; only names of the recording are readable. */
static void hostile_names_stay_text(void **state)
{
	(void)state;
	struct buf b = page_of(record_hostile(), "hostile", &(struct sink_options){ 0 });
	assert_false(has(&b, "<script>alert"));
	assert_true(has(&b, "\\u003c/script\\u003e\\u003cscript\\u003ealert(1)"));
	assert_false(has(&b, "\x1b"));
	assert_false(has(&b, "\xe2\x80\xa8"));
	buf_free(&b);
}

static void cells_keep_their_sums(void **state)
{
	struct cells c = { .first_ns = 1000 };
	struct amount sum = { 0 }, by = { 1, 10 };
	double heap = 0;
	(void)state;
	cells_begin(&c);
	for (uint32_t i = 0; i < 2000; i++)
		assert_true(cells_add(&c, i % 7, 1000 + i * 3600000000000ull / 2000, CELL_ALLOC, &by));
	/* Frees in the past, and in a slice that does not exist. */
	assert_true(cells_add(&c, 3, 1000, CELL_KEPT, &by));
	assert_true(cells_add(&c, 9, 0, CELL_ALLOC, &by));
	for (uint64_t i = 0; i < 1000; i++)
		cells_note(&c, 1000 + (i << 30), 2, 1, (double)i);
	assert_true(c.heap_reached <= CELL_SLICES && c.heap_slices.scale > 0);
	for (uint32_t i = 0; i < c.heap_reached; i++)
		heap += c.heap[i].alloc_sz - c.heap[i].freed_sz;
	assert_true(heap == 1000 && c.heap[c.heap_reached - 1].highest == 999);
	assert_true(c.reached <= CELL_SLICES && c.reached > CELL_SLICES / 2 - 2);
	for (size_t p = 0; p < c.rows_cnt; p++) {
		for (size_t i = 0; i < c.rows[p].at_cnt; i++) {
			const struct cell *cell = &c.rows[p].at[i];
			assert_true(!i || cell->slice > c.rows[p].at[i - 1].slice);
			sum.cnt += cell->v[CELL_ALLOC].cnt;
			sum.sz += cell->v[CELL_ALLOC].sz;
		}
	}
	assert_true(sum.cnt == 2001 && sum.sz == 20010);
	assert_true(c.rows[3].at[0].v[CELL_KEPT].sz == 10);
	cells_free(&c);
}

static void cells_are_bounded(void **state)
{
	struct cells c = { 0 };
	const struct amount by = { 1, 1 };
	(void)state;
	cells_begin(&c);
	for (uint32_t s = 0; s < CELL_SLICES; s++) {
		for (uint32_t p = 0; p < 4000; p++)
			assert_true(cells_add(&c, p, (uint64_t)s << 20, CELL_ALLOC, &by));
		assert_true(c.cnt <= CELLS_MAX);
	}
	assert_true(c.reached == CELL_SLICES && c.rows[0].coarse > 0);
	cells_free(&c);
}

/* One slice each is the minimum; the search for more to save must not take time for each row. */
static void more_paths_than_cells(void **state)
{
	struct cells c = { 0 };
	const struct amount by = { 1, 1 };
	clock_t begun = clock();
	(void)state;
	cells_begin(&c);
	for (uint32_t i = 0; i < 2 * CELLS_MAX; i++)
		assert_true(cells_add(&c, i, 0, CELL_ALLOC, &by));
	assert_int_equal(c.cnt, 2 * CELLS_MAX);
	assert_true(clock() - begun < 20 * CLOCKS_PER_SEC);
	cells_free(&c);
}

/* Of many busy paths those with most bytes keep the finest slices. */
static void heavy_paths_stay_fine(void **state)
{
	struct cells c = { 0 };
	const struct amount light = { 1, 20 }, heavy = { 4, 200000 };
	double sum = 0;
	(void)state;
	cells_begin(&c);
	for (uint64_t s = 0; s < CELL_SLICES; s++) {
		for (uint32_t p = 0; p < 20000; p++)
			assert_true(cells_add(&c, p, s << 20, CELL_ALLOC, p < 500 ? &heavy : &light));
	}
	assert_true(c.cnt <= CELLS_MAX);
	assert_int_equal(c.reached, CELL_SLICES);
	for (uint32_t p = 0; p < 500; p++)
		assert_true(!c.rows[p].coarse && c.rows[p].at_cnt == CELL_SLICES);
	for (size_t p = 0; p < c.rows_cnt; p++) {
		for (size_t i = 0; i < c.rows[p].at_cnt; i++)
			sum += c.rows[p].at[i].v[CELL_ALLOC].sz;
	}
	assert_true(sum == CELL_SLICES * (500 * heavy.sz + 19500 * light.sz));
	/* Over a longer time all of them become coarser. */
	assert_true(cells_add(&c, 0, (uint64_t)CELL_SLICES << 20, CELL_ALLOC, &heavy));
	assert_true(c.slices.scale == 1 && c.rows[0].at_cnt == CELL_SLICES / 2 + 1);
	cells_free(&c);
}

static uint64_t seed = 1;

static uint32_t dice(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((seed >> 33) * (uint64_t)n >> 31);
}

/* Stacks share their roots, as in real programs. */
static struct catalog *big_catalog(void)
{
	struct catalog *c = catalog_new();
	struct frame f[BIG_DEPTH];
	uint32_t n = 0;
	assert_non_null(c);
	assert_int_equal(catalog_put_meta(c, "start_mono_ns", "1000"), 0);
	put_module(c, 1, "/srv/big/server", 20);
	put_mapping(c, 1, 1, 1, 0);
	for (uint32_t i = 1; i <= BIG_FUNCTIONS; i++) {
		char name[96];
		snprintf(name, sizeof(name), "*Handler%u::Request(%u)#process_part_%u", i % 97, i % 13, i);
		put_symbol(c, 1, 16 * i - 1, name, "/srv/big/src/handler.cr", i);
	}
	for (uint32_t i = 1; i <= BIG_STACKS; i++) {
		uint32_t keep = n > 4 ? n - 1 - dice(4) : n;
		n = keep + 1 + dice(5);
		n = n < BIG_DEPTH ? n : BIG_DEPTH;
		struct frame inner[BIG_DEPTH + 1] = { { { 1 }, 8 } };
		for (uint32_t k = keep; k < n; k++)
			f[k] = (struct frame){ { 1 }, 16 * (1 + dice(BIG_FUNCTIONS)) };
		for (uint32_t k = 0; k < n; k++)
			inner[k + 1] = f[n - 1 - k];
		put_stack(c, i, 1, inner, n + 1);
	}
	return c;
}

/* Each stack at least once; a few make most events, and most blocks are freed soon. */
static struct event big_event(uint64_t i, uint64_t n)
{
	uint32_t rare = dice(1000);
	struct event e = { .proc = { 1 }, .tid = 1 + dice(4), .time_ns = 1000 + i * 60000000000ull / n };
	e.kind = i & 1 ? EVENT_FREE : EVENT_ALLOC;
	e.addr = 16 + 16 * (i & 1 ? i / 2 - dice(1 + (uint32_t)(i < 4000 ? i / 2 : 2000)) : i / 2);
	e.stack.n = 1 + dice(rare < 700 ? 400 : rare < 950 ? 8000 : BIG_STACKS);
	if (i < 2 * BIG_STACKS)
		e.stack.n = 1 + (uint32_t)i / 2;
	e.size = 16 + dice(4000);
	return e;
}

static void large_page_is_small(void **state)
{
	const char *wanted = getenv("ALYS_TEST_EVENTS");
	uint64_t n = wanted ? strtoull(wanted, NULL, 10) : 1000000;
	const struct sink_ops *ops = sink_find("html");
	const struct sink_options o = { 0 };
	struct catalog *c = big_catalog();
	struct buf b = { 0 };
	struct sink_out out = { collect, &b };
	struct heap *h = heap_new();
	const struct sink_input in = { .catalog = c, .heap = h, .options = &o };
	struct err err = { 0 };
	void *s;
	(void)state;
	assert_int_equal(ops->begin(&in, &out, &s, &err), 0);
	for (uint64_t i = 0; i < n; i++) {
		struct event e = big_event(i, n);
		struct applied a;
		assert_int_equal(heap_apply(h, &e, &a), 0);
		assert_int_equal(ops->event(s, &e, &a, &err), 0);
	}
	assert_int_equal(ops->end(s, &err), 0);
	write_page("big", &b);
	if (b.len > 5 << 20)
		fail_msg("%zu bytes", b.len);
	buf_free(&b);
	heap_free(h);
	catalog_free(c);
}

/* Times count from the recording's start, also without any block. */
static void page_without_blocks_has_its_length(void **state)
{
	const struct sink_ops *ops = sink_find("html");
	const struct sink_options o = { 0 };
	struct buf b = { 0 };
	struct sink_out out = { collect, &b };
	struct recording r = { .c = catalog_new(), .h = heap_new() };
	const struct sink_input in = { .catalog = r.c, .heap = r.h, .options = &o };
	struct event e = { .kind = EVENT_EXIT, .proc = { 1 }, .time_ns = 3000000000 };
	struct applied a;
	struct err err = { 0 };
	void *s;
	(void)state;
	assert_int_equal(catalog_put_meta(r.c, "start_mono_ns", "1000000000"), 0);
	assert_int_equal(ops->begin(&in, &out, &s, &err), 0);
	assert_int_equal(heap_apply(r.h, &e, &a), 0);
	assert_int_equal(ops->event(s, &e, &a, &err), 0);
	assert_int_equal(ops->end(s, &err), 0);
	assert_true(has(&b, "\"length_ns\":2000000000,"));
	buf_free(&b);
	forget(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_are_whole),       cmocka_unit_test(page_without_blocks_has_its_length),
		cmocka_unit_test(same_input_same_bytes), cmocka_unit_test(hostile_names_stay_text),
		cmocka_unit_test(cells_keep_their_sums), cmocka_unit_test(cells_are_bounded),
		cmocka_unit_test(more_paths_than_cells), cmocka_unit_test(heavy_paths_stay_fine),
		cmocka_unit_test(large_page_is_small),
	};
	make_out_dir(out_dir);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
