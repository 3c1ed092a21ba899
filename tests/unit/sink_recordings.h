/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scripted recordings for the sink tests, built with the modules' interfaces: "shop" is one small
 * program, every call recorded; "fleet" has two processes, samples, losses and a collector whose
 * frees that were not seen; "hostile" has names made to break a reader.
 */
#ifndef ALYS_TESTS_SINK_SHOP_H
#define ALYS_TESTS_SINK_SHOP_H

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "catalog/catalog.h"
#include "format/sink.h"
#include "model/model.h"
#include "sink/registry.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define SECOND 1000000000ull

/* Where things are: the program at a bias, libc and a library without symbols. */
#define SHOP_BIAS 0x555500000000ull
#define LIBC_BIAS 0x7f1000000000ull
#define BLOB_BIAS 0x7f2000000000ull

struct recording {
	struct catalog *c;
	struct heap *h;
	const struct event *events;
	size_t n;
	struct snapshot *s;
};

static inline void put_module(struct catalog *c, uint32_t id, const char *path, uint8_t build_id_sz)
{
	struct module m = { .id = { id }, .path = path, .dev = 8, .ino = 100 + id, .build_id_sz = build_id_sz };
	for (uint8_t i = 0; i < build_id_sz; i++)
		m.build_id[i] = (uint8_t)(id * 16 + i);
	assert_int_equal(catalog_put_module(c, &m), 0);
}

static inline void put_mapping(struct catalog *c, uint32_t id, uint32_t proc, uint32_t module, uint64_t bias)
{
	struct mapping m = { { id }, { proc }, { module }, bias + 0x1000, bias + 0x9000, bias };
	assert_int_equal(catalog_put_mapping(c, &m), 0);
}

static inline void put_symbol(struct catalog *c, uint32_t module, uint64_t pc, const char *name, const char *file, uint32_t line)
{
	struct symbol at = { .name = name, .file = file, .line = line, .quality = SYMBOL_EXACT };
	struct symbols s = { 1, &at };
	assert_int_equal(catalog_put_symbols(c, (struct module_id){ module }, pc, &s), 0);
}

static inline void put_stack(struct catalog *c, uint32_t id, uint32_t proc, const struct frame *f, uint32_t n)
{
	struct stack s = { .id = { id }, .proc = { proc }, .end = n ? STACK_END_COMPLETE : STACK_END_LOST, .n = n, .frames = f };
	assert_int_equal(catalog_put_stack(c, &s), 0);
}

static inline void put_count(struct catalog *c, const char *name, enum count_class class, uint64_t value)
{
	struct count n = { .name = name, .help = "", .class = class, .value = value };
	assert_int_equal(catalog_put_count(c, &n), 0);
}

static inline void put_meta(struct catalog *c, const char *const pairs[][2], size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(catalog_put_meta(c, pairs[i][0], pairs[i][1]), 0);
}

/* main -> Cart::checkout, with Cart::add inlined -> operator new -> malloc, and others. */
static inline void put_shop(struct catalog *c, uint32_t proc, uint32_t first_map, uint32_t first_stack)
{
	const struct map_id shop = { first_map }, libc = { first_map + 1 }, blob = { first_map + 2 };
	const struct frame cart[] = { { libc, 0x1100 }, { libc, 0x2201 }, { shop, 0x1301 }, { shop, 0x1401 } };
	const struct frame parse[] = { { libc, 0x1100 }, { shop, 0x1501 }, { shop, 0x1401 } };
	const struct frame foreign[] = {
		{ libc, 0x1100 }, { blob, 0x1601 }, { { 0 }, 0x7fee00001234 }, { shop, 0x1501 }, { shop, 0x1401 }
	};
	put_mapping(c, first_map, proc, 1, SHOP_BIAS);
	put_mapping(c, first_map + 1, proc, 2, LIBC_BIAS);
	put_mapping(c, first_map + 2, proc, 3, BLOB_BIAS);
	put_stack(c, first_stack, proc, cart, LEN(cart));
	put_stack(c, first_stack + 1, proc, parse, LEN(parse));
	put_stack(c, first_stack + 2, proc, foreign, LEN(foreign));
	put_stack(c, first_stack + 3, proc, NULL, 0);
}

static inline void put_shop_files(struct catalog *c)
{
	struct symbol inlined[] = {
		{ "Cart::add(Item const&)", "/src/cart.h", 17, 9, SYMBOL_EXACT, SYMBOL_OWNER_UNKNOWN, true },
		{ "Cart::checkout()", "/src/cart.cc", 42, 3, SYMBOL_EXACT, SYMBOL_OWNER_UNKNOWN, false },
	};
	struct symbols both = { 2, inlined };
	put_module(c, 1, "/usr/bin/shop", 20);
	put_module(c, 2, "/usr/lib/libc.so.6", 20);
	put_module(c, 3, "/opt/lib/libblob.so", 0);
	put_symbol(c, 2, 0x1100, "malloc", NULL, 0);
	put_symbol(c, 2, 0x2200, "operator new(unsigned long)", NULL, 0);
	assert_int_equal(catalog_put_symbols(c, (struct module_id){ 1 }, 0x1300, &both), 0);
	put_symbol(c, 1, 0x1400, "main", "/src/main.cc", 7);
	put_symbol(c, 1, 0x1500, "Parser#read; \"<json>\"", "/src/parse.cr", 99);
}

static inline void replay(struct recording *r, const struct event *events, size_t n)
{
	r->events = events;
	r->n = n;
	r->h = heap_new();
	assert_non_null(r->h);
	heap_watch(r->h, HEAP_PEAK | HEAP_TIMELINE);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(heap_apply(r->h, &events[i], NULL), 0);
	r->s = heap_snapshot(r->h);
	assert_non_null(r->s);
}

static inline struct recording record_shop(void)
{
	static const char *const meta[][2] = {
		{ "version", "0.1" },
		{ "start_real_ns", "1700000000000000000" },
		{ "start_mono_ns", "5000000000" },
		{ "end_mono_ns", "7500000000" },
		{ "pids", "4242" },
		{ "sample", "" },
		{ "walk", "table" },
	};
	/* clang-format off */
	static const struct event events[] = {
		{ .kind = EVENT_ALLOC, .proc = { 1 }, .tid = 4242, .stack = { 1 },
		  .time_ns = 5 * SECOND + 1, .addr = 0x20000000000010, .size = 96 },
		{ .kind = EVENT_ALLOC, .proc = { 1 }, .tid = 4243, .stack = { 2 },
		  .time_ns = 5 * SECOND + 2000, .addr = 0x7000, .size = 1000,
		  .flags = EVENT_F_ATOMIC | EVENT_F_GC, .gc_no = 3 },
		{ .kind = EVENT_REALLOC, .proc = { 1 }, .tid = 4242, .stack = { 1 },
		  .time_ns = 6 * SECOND, .enter_ns = 6 * SECOND - 90, .addr = 0x8000,
		  .old_addr = 0x20000000000010, .size = 4096 },
		{ .kind = EVENT_ALLOC, .proc = { 1 }, .tid = 4242, .stack = { 3 },
		  .time_ns = 6 * SECOND + 5, .addr = 0x9000, .size = 64 },
		{ .kind = EVENT_FREE, .proc = { 1 }, .tid = 4243, .time_ns = 6 * SECOND + 9,
		  .addr = 0x7000, .flags = EVENT_F_BY_GC },
		{ .kind = EVENT_FREE, .proc = { 1 }, .tid = 4243, .time_ns = 6 * SECOND + 10,
		  .addr = 0xdead0 },
		{ .kind = EVENT_ALLOC, .proc = { 1 }, .tid = 4242, .stack = { 4 },
		  .time_ns = 7 * SECOND, .addr = 0xa000, .size = 64 },
	};
	/* clang-format on */
	const struct proc p = { .id = { 1 }, .tgid = 4242, .start_ns = 4 * SECOND, .comm = "shop", .exe = "/usr/bin/shop" };
	struct recording r = { .c = catalog_new() };
	assert_non_null(r.c);
	put_meta(r.c, meta, LEN(meta));
	assert_int_equal(catalog_put_proc(r.c, &p), 0);
	put_shop_files(r.c);
	put_shop(r.c, 1, 1, 1);
	put_count(r.c, "hits", COUNT_HIT, 9);
	put_count(r.c, "recorded", COUNT_RECORDED, 7);
	put_count(r.c, "nested", COUNT_SKIPPED, 2);
	replay(&r, events, LEN(events));
	return r;
}

static inline struct recording record_fleet(void)
{
	static const char *const meta[][2] = {
		{ "version", "0.1" },
		{ "sample", "bytes:4096" },
		{ "liveness", "none" },
		{ "walk", "table" },
		{ "start_real_ns", "1700000000000000000" },
		{ "pids", "50,51" },
	};
	static const struct event events[] = {
		{ .kind = EVENT_ALLOC,
		  .proc = { 1 },
		  .tid = 50,
		  .stack = { 1 },
		  .time_ns = 5 * SECOND,
		  .addr = 0x1000,
		  .size = 4096,
		  .interval = 4096 },
		{ .kind = EVENT_ALLOC,
		  .proc = { 2 },
		  .tid = 51,
		  .stack = { 5 },
		  .time_ns = 6 * SECOND,
		  .addr = 0x1000,
		  .size = 100,
		  .interval = 4096 },
		{ .kind = EVENT_LOSS, .proc = { 1 }, .lost_kind = EVENT_FREE, .size = 12, .time_ns = 6 * SECOND + 1 },
		{ .kind = EVENT_ALLOC,
		  .proc = { 2 },
		  .tid = 52,
		  .stack = { 6 },
		  .time_ns = 7 * SECOND,
		  .addr = 0x2000,
		  .size = 1 << 20,
		  .interval = 4096 },
	};
	struct recording r = { .c = catalog_new() };
	assert_non_null(r.c);
	put_meta(r.c, meta, LEN(meta));
	for (uint32_t i = 1; i <= 2; i++) {
		struct proc p = { .id = { i }, .tgid = 49 + i, .start_ns = 4 * SECOND, .comm = "shop", .exe = "/usr/bin/shop" };
		assert_int_equal(catalog_put_proc(r.c, &p), 0);
		put_shop(r.c, i, 3 * i - 2, 4 * i - 3);
	}
	put_shop_files(r.c);
	put_count(r.c, "hits", COUNT_HIT, 903);
	put_count(r.c, "recorded", COUNT_RECORDED, 3);
	put_count(r.c, "not-sampled", COUNT_SKIPPED, 888);
	put_count(r.c, "ring-full", COUNT_LOST, 12);
	replay(&r, events, LEN(events));
	return r;
}

#define HOSTILE_LONG 10000

/* Each name is a function of its own stack; the last one is HOSTILE_LONG bytes. */
static inline size_t hostile_names(const char **out)
{
	static char longest[HOSTILE_LONG + 1];
	static const char *const names[] = {
		"\x1b[31mred\x1b[0m",
		"\"quoted\" 'and' \\back",
		"</script><script>alert(1)</script>",
		"]]><!--",
		"&amp;&#0;",
		"\xe2\x80\xaegnp.exe",
		"\xff\xfe broken \xc3",
		"\xed\xa0\x80 surrogate",
		"\xef\xbf\xbe not a character",
		"a;b;c 12",
		"line\nbreak\ttab",
		"",
		"\xe6\xbc\xa2\xe5\xad\x97 wide",
		"nul\x7f"
		"del",
		"x\xc2\x85y",
	};
	memset(longest, 'L', HOSTILE_LONG);
	for (size_t i = 0; i < LEN(names); i++)
		out[i] = names[i];
	out[LEN(names)] = longest;
	return LEN(names) + 1;
}

static inline struct recording record_hostile(void)
{
	static struct event events[32];
	const char *names[32];
	size_t n = hostile_names(names);
	struct recording r = { .c = catalog_new() };
	assert_non_null(r.c);
	const struct proc p = { .id = { 1 }, .tgid = 1, .comm = names[0], .exe = names[2] };
	assert_int_equal(catalog_put_proc(r.c, &p), 0);
	assert_int_equal(catalog_put_meta(r.c, "version", names[0]), 0);
	assert_int_equal(catalog_put_meta(r.c, "pids", names[10]), 0);
	put_count(r.c, names[2], COUNT_LOST, 1);
	for (uint32_t i = 0; i < n; i++) {
		const struct frame f[] = { { { i + 1 }, 0x1100 }, { { i + 1 }, 0x1201 } };
		put_module(r.c, i + 1, names[i], 3);
		put_mapping(r.c, i + 1, 1, i + 1, 0x10000ull * i);
		put_symbol(r.c, i + 1, 0x1200, names[i], names[n - 1 - i], i);
		put_stack(r.c, i + 1, 1, f, LEN(f));
		events[i] = (struct event){ .kind = EVENT_ALLOC,
					    .proc = { 1 },
					    .stack = { i + 1 },
					    .time_ns = i,
					    .addr = 16 * (i + 1),
					    .size = 100 + i };
	}
	/* Ids without a definition, as in a damaged file. */
	events[n] = (struct event){ .kind = EVENT_ALLOC, .proc = { 77 }, .stack = { 777 }, .addr = 8, .size = 5 };
	replay(&r, events, n + 1);
	return r;
}

static inline void forget(struct recording *r)
{
	snapshot_free(r->s);
	heap_free(r->h);
	catalog_free(r->c);
}

static inline int collect(void *ctx, const void *bytes, size_t n)
{
	buf_add(ctx, bytes, n);
	return 0;
}

/* All bytes of one format. Event formats get the model's result for each event, as in a replay. */
static inline void render(const struct recording *r, const struct sink_ops *ops, const struct sink_options *o, struct buf *out)
{
	struct sink_out to = { collect, out };
	struct sink_input in = { .catalog = r->c, .snapshot = ops->render ? r->s : NULL, .options = o };
	struct err err = { 0 };
	if (ops->render) {
		assert_int_equal(ops->render(&in, &to, &err), 0);
		return;
	}
	struct heap *h = in.heap = heap_new();
	void *state;
	assert_int_equal(ops->begin(&in, &to, &state, &err), 0);
	for (size_t i = 0; i < r->n; i++) {
		struct applied a;
		assert_int_equal(heap_apply(h, &r->events[i], &a), 0);
		assert_int_equal(ops->event(state, &r->events[i], &a, &err), 0);
	}
	assert_int_equal(ops->end(state, &err), 0);
	heap_free(h);
}

/* The folder "sink" beside the test's program. */
static inline void make_out_dir(char path[PATH_MAX])
{
	char self[PATH_MAX] = "";
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		exit(2);
	snprintf(path, PATH_MAX, "%.4000s/sink", dirname(self));
	if (mkdir(path, 0777) && errno != EEXIST)
		exit(2);
}

#endif
