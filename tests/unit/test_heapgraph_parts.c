/* SPDX-License-Identifier: Apache-2.0 */
/* boehm: graph, roots, pictures and parts over a heap made by hand. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/vec.h"
#include "heapgraph/parts.h"

#define HEAP 0x100000ull
#define DATA 0x400000ull
#define STACK 0x800000ull
#define FIBER 0x900000ull

/* Memory of four pages of heap and one each of data, stack and fiber stack. */
struct world {
	uint64_t heap[6][512], data[512], stack[512], fiber[512];
	struct boehm_heap h;
	struct words w;
	struct roots r;
	struct graph g;
	struct space space;
	struct memory memory;
	struct memory_source source;
};

static int64_t read_world(void *ctx, uint64_t addr, void *out, size_t n)
{
	struct world *w = ctx;
	const struct {
		uint64_t addr;
		void *bytes;
		size_t n;
	} parts[] = {
		{ HEAP, w->heap, sizeof(w->heap) }, { DATA, w->data, 4096 }, { STACK, w->stack, 4096 }, { FIBER, w->fiber, 4096 }
	};
	for (size_t i = 0; i < 4; i++) {
		if (addr < parts[i].addr || addr >= parts[i].addr + parts[i].n)
			continue;
		size_t left = parts[i].n - (addr - parts[i].addr);
		n = n < left ? n : left;
		memcpy(out, (char *)parts[i].bytes + (addr - parts[i].addr), n);
		return (int64_t)n;
	}
	return -EFAULT;
}

static void add_block(struct world *w, uint64_t addr, uint64_t bytes, uint64_t size, uint8_t kind)
{
	struct heap_block *b = VEC_PUSH(&w->h, blocks);
	*b = (struct heap_block){ .addr = addr,
				  .bytes = bytes,
				  .size = size,
				  .kind = kind,
				  .objects = (uint32_t)(bytes / size),
				  .marks = w->h.marks_cnt };
	w->h.marks_cnt += b->objects;
}

static void add_region(struct world *w, uint64_t start, uint64_t n, bool rw, const char *path)
{
	bool program = !strcmp(path, "/bin/x");
	struct space_region r = {
		.start = start, .end = start + n, .readable = rw, .writable = rw, .exec = program, .ino = program, .path = path
	};
	assert_int_equal(space_add(&w->space, &r), 0);
}

/* Block 0: 32-byte objects; 1: the same, pointer-free; 2: one object of two pages; 3: uncollectable; 4: 512 bytes. */
static struct world *world_new(void)
{
	struct world *w = calloc(1, sizeof(*w));
	w->source = (struct memory_source){ read_world, w };
	w->memory.source = &w->source;
	add_block(w, HEAP, 4096, 32, HEAP_NORMAL);
	add_block(w, HEAP + 0x1000, 4096, 32, HEAP_ATOMIC);
	add_block(w, HEAP + 0x2000, 0x2000, 0x2000, HEAP_NORMAL);
	add_block(w, HEAP + 0x4000, 4096, 64, HEAP_UNCOLLECTABLE);
	add_block(w, HEAP + 0x5000, 4096, 512, HEAP_NORMAL);
	w->h.marks = calloc(w->h.marks_cnt, 1);
	w->h.marks_cap = w->h.marks_cnt;
	add_region(w, HEAP, 0x6000, true, "");
	add_region(w, DATA, 4096, true, "/bin/x");
	add_region(w, STACK - 4096, 4096, false, "");
	add_region(w, STACK, 4096, true, "[stack]");
	add_region(w, FIBER - 4096, 4096, false, "");
	add_region(w, FIBER, 4096, true, "");
	/* Large enough to be taken for a stack; only its last page can be read here. */
	w->space.regions[5].start = FIBER - 0x8000 + 4096;
	w->space.regions[4].start = FIBER - 0x8000;
	w->space.regions[4].end = w->space.regions[5].start;
	return w;
}

static void world_free(struct world *w)
{
	graph_free(&w->g);
	roots_free(&w->r);
	words_free(&w->w);
	boehm_heap_free(&w->h);
	space_free(&w->space);
	free(w);
}

static uint64_t obj(unsigned int block, unsigned int k)
{
	static const uint64_t at[] = { HEAP, HEAP + 0x1000, HEAP + 0x2000, HEAP + 0x4000, HEAP + 0x5000 };
	static const uint64_t size[] = { 32, 32, 0x2000, 64, 512 };
	return at[block] + k * size[block];
}

static uint64_t *word(struct world *w, uint64_t addr)
{
	return (uint64_t *)w->heap + (addr - HEAP) / 8;
}

static uint32_t first_word(void *ctx, uint32_t first, uint64_t size, uint8_t kind)
{
	(void)ctx, (void)size, (void)kind;
	return first < 100 ? first : 0;
}

static int settle(void *ctx, struct graph *g)
{
	(void)ctx, (void)g;
	return 0;
}

static const struct graph_typing typing = { first_word, settle, NULL };

static void scan(struct world *w, enum graph_live live, const struct root_exclude *x, size_t x_cnt)
{
	static const struct root_thread thread = { .tid = 7, .sp = STACK + 0x800, .registers = { 1, 2, 0 }, .registers_cnt = 3 };
	struct root_thread threads[1] = { thread };
	threads[0].registers[2] = obj(0, 20);
	struct root_plan plan = { &w->space, threads, 1, x, x_cnt, 1 << 20, NULL, 0 };
	assert_int_equal(words_begin(&w->w, &w->h, 1 << 20), 0);
	assert_int_equal(roots_begin(&w->r, &plan), 0);
	assert_int_equal(words_copy(&w->w, &w->memory, &w->h, 0), 0);
	assert_int_equal(roots_copy(&w->r, &w->memory, &plan, &w->w, &w->h, 0), 0);
	assert_int_equal(graph_scan(&w->g, &w->h, &w->w, &w->r, live, &typing), 0);
}

static bool lives(const struct world *w, uint64_t addr)
{
	uint32_t i = graph_find(&w->g, addr);
	return i != GRAPH_NONE && w->g.objects[i].addr == addr;
}

static const struct root_range *range_at(const struct world *w, uint64_t addr)
{
	for (size_t i = 0; i < w->r.ranges_cnt; i++) {
		const struct root_range *g = &w->r.ranges[i];
		if (g->kind != ROOT_REGISTERS && addr >= g->start && addr < g->end)
			return g;
	}
	return NULL;
}

/* The program's data and the frames of the first thread's stack, but neither its arguments nor a mapped file. */
static void test_ranges(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct root_thread thread = { .tid = 7, .sp = STACK + 0x800, .bottom = STACK + 0xc04 };
	struct root_plan plan = { &w->space, &thread, 1, NULL, 0, 1 << 20, NULL, 0 };
	add_region(w, FIBER + 0x10000, 4096, true, "/var/cache");
	assert_int_equal(roots_begin(&w->r, &plan), 0);
	assert_non_null(range_at(w, DATA));
	assert_null(range_at(w, FIBER + 0x10000));
	assert_non_null(range_at(w, STACK + 0xbf8));
	assert_null(range_at(w, STACK + 0xc00));
	roots_free(&w->r);
	thread.sp = 0; /* it runs */
	assert_int_equal(roots_begin(&w->r, &plan), 0);
	assert_non_null(range_at(w, STACK));
	assert_null(range_at(w, STACK + 0xc00));
	world_free(w);
}

/* Without a collector: anonymous memory, less what is the heap's, and less what is too much. */
static void test_anonymous_memory_beside_a_heap(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct root_thread thread = { .tid = 7, .sp = STACK + 0x800 };
	const uint64_t at = FIBER + 0x100000, large = FIBER + 0x10000000;
	const struct root_exclude heap[] = { { at + 0x1000, at + 0x2000 }, { at + 0x3000, at + 0x9000 } };
	struct root_plan plan = { &w->space, &thread, 1, NULL, 0, 1 << 20, NULL, 0 };
	add_region(w, at, 0x8000, true, "");
	add_region(w, large, ROOT_ANONYMOUS_MAX + 4096, true, "");
	assert_int_equal(roots_begin(&w->r, &plan), 0);
	assert_null(range_at(w, at));
	roots_free(&w->r);
	plan.heap = heap;
	plan.heap_cnt = 2;
	assert_int_equal(roots_begin(&w->r, &plan), 0);
	assert_int_equal(range_at(w, at)->kind, ROOT_ANONYMOUS);
	assert_null(range_at(w, at + 0x1000));
	assert_int_equal(range_at(w, at + 0x2ff8)->start, at + 0x2000);
	assert_null(range_at(w, at + 0x3000));
	assert_null(range_at(w, at + 0x7ff8));
	assert_null(range_at(w, large));
	assert_int_equal(w->r.unsearched, ROOT_ANONYMOUS_MAX + 4096);
	world_free(w);
}

static void test_reached(void **state)
{
	(void)state;
	struct world *w = world_new();
	w->data[3] = obj(0, 1);
	*word(w, obj(0, 1) + 8) = obj(0, 2) + 17; /* inside */
	*word(w, obj(0, 2) + 8) = obj(1, 0);
	*word(w, obj(1, 0) + 8) = obj(0, 3); /* pointer-free: says nothing */
	*word(w, obj(0, 5) + 8) = obj(0, 6); /* garbage */
	w->stack[0x900 / 8] = obj(2, 0) + 0x1800;
	w->stack[0x100 / 8] = obj(0, 7); /* below the stack pointer */
	w->h.marks[w->h.blocks[3].marks + 2] = 1;
	*word(w, obj(3, 2) + 16) = obj(0, 8);
	*word(w, obj(3, 3) + 16) = obj(0, 9); /* freed */
	w->h.marks[w->h.blocks[3].marks + 4] = w->h.marks[w->h.blocks[3].marks + 5] = 1;
	*word(w, obj(3, 4)) = obj(3, 5); /* free, and the next free one */
	scan(w, GRAPH_REACHED, NULL, 0);
	assert_true(lives(w, obj(0, 1)) && lives(w, obj(0, 2)) && lives(w, obj(1, 0)) && lives(w, obj(2, 0)));
	assert_true(lives(w, obj(3, 2)) && lives(w, obj(0, 8)) && lives(w, obj(0, 20)));
	assert_false(lives(w, obj(0, 3)) || lives(w, obj(0, 5)) || lives(w, obj(0, 6)) || lives(w, obj(0, 7)));
	assert_false(lives(w, obj(0, 9)) || lives(w, obj(3, 3)) || lives(w, obj(3, 4)) || lives(w, obj(3, 5)));
	assert_int_equal(w->g.objects_cnt, 7);
	assert_int_equal(w->g.edges_cnt, 3);
	assert_int_equal(graph_find(&w->g, obj(0, 1) + 31), graph_find(&w->g, obj(0, 1)));
	assert_int_equal(graph_find(&w->g, HEAP - 1), GRAPH_NONE);
	world_free(w);
}

static void test_first_page_only(void **state)
{
	(void)state;
	struct world *w = world_new();
	w->h.blocks[2].flags = 1;
	w->data[0] = obj(2, 0) + 0x1800;
	scan(w, GRAPH_REACHED, NULL, 0);
	assert_false(lives(w, obj(2, 0)));
	world_free(w);
	w = world_new();
	w->h.blocks[2].flags = 1;
	w->data[0] = obj(2, 0) + 0x800;
	scan(w, GRAPH_REACHED, NULL, 0);
	assert_true(lives(w, obj(2, 0)));
	world_free(w);
}

static void test_excluded_data(void **state)
{
	(void)state;
	static const struct root_exclude x[] = { { DATA + 8, DATA + 24 } };
	struct world *w = world_new();
	w->data[0] = obj(0, 1);
	w->data[1] = obj(0, 2);
	w->data[2] = obj(0, 3);
	w->data[3] = obj(0, 4);
	scan(w, GRAPH_REACHED, x, 1);
	assert_true(lives(w, obj(0, 1)) && lives(w, obj(0, 4)));
	assert_false(lives(w, obj(0, 2)) || lives(w, obj(0, 3)));
	world_free(w);
}

/* A stack without an owner is ignored; one with a live owner counts between the two addresses in the owner. */
static void test_fibers(void **state)
{
	(void)state;
	struct world *w = world_new();
	w->fiber[0x200 / 8] = obj(0, 1);
	w->fiber[0x900 / 8] = obj(0, 2);
	scan(w, GRAPH_REACHED, NULL, 0);
	assert_false(lives(w, obj(0, 1)) || lives(w, obj(0, 2)));
	assert_int_equal(w->r.idle_stacks, 1);
	world_free(w);
	for (int alive = 0; alive < 2; alive++) {
		w = world_new();
		w->fiber[0x200 / 8] = obj(0, 1);
		w->fiber[0x900 / 8] = obj(0, 2);
		*word(w, obj(4, 0) + 64) = FIBER + 0x800;
		*word(w, obj(4, 0) + 72) = FIBER + 0x1000;
		w->data[0] = alive ? obj(4, 0) : 0;
		scan(w, GRAPH_REACHED, NULL, 0);
		assert_false(lives(w, obj(0, 1)));
		assert_int_equal(lives(w, obj(0, 2)), alive);
		world_free(w);
	}
}

/* Adjacent mappings: the heap that follows a stack is not a part of it. */
static void test_heap_behind_stack(void **state)
{
	(void)state;
	struct world *w = world_new();
	w->h.gaps = calloc(1, sizeof(*w->h.gaps));
	w->h.gaps[0] = (struct heap_gap){ .addr = STACK + 0x900, .bytes = 0x100 };
	w->h.gaps_cnt = w->h.gaps_cap = 1;
	w->stack[0x880 / 8] = obj(0, 1);
	w->stack[0x980 / 8] = obj(0, 2);
	scan(w, GRAPH_REACHED, NULL, 0);
	assert_true(lives(w, obj(0, 1)));
	assert_false(lives(w, obj(0, 2)));
	world_free(w);
}

static void test_marked(void **state)
{
	(void)state;
	struct world *w = world_new();
	w->data[0] = obj(0, 4); /* since the last collection */
	w->h.marks[1] = w->h.marks[2] = 1;
	*word(w, obj(0, 1)) = obj(0, 2);
	*word(w, obj(0, 2)) = obj(0, 4);
	scan(w, GRAPH_MARKED, NULL, 0);
	assert_int_equal(w->g.objects_cnt, 2);
	assert_int_equal(w->g.edges_cnt, 1);
	world_free(w);
}

/* --- pictures: the example of MemProf's documentation ------------------------------------------ */

enum { A = 1, B, C, BS };

static void name_types(struct types *t, struct fields *f)
{
	static const char *const names[] = { [A] = "A", [B] = "B", [C] = "C", [BS] = "Array(B)" };
	types_begin(t);
	/* String's own number is 1 in every program. */
	for (uint32_t i = A; i <= BS; i++)
		types_put(t, i + 10, names[i], strlen(names[i]), TYPE_FROM_COMPILER);
	struct field fields[] = { { "bs", 8 }, { "c", 8 } };
	for (int i = 0; f && i < 2; i++) {
		struct field_class c = { .name = names[i ? B : A], .size = 16, .first = f->all_cnt, .cnt = 1 };
		*VEC_PUSH(f, all) = fields[i];
		assert_int_equal(fields_add(f, &c), 0);
	}
}

static struct world *example(void)
{
	struct world *w = world_new();
	*word(w, obj(1, 7)) = C + 10;
	*word(w, obj(1, 6)) = C + 10;
	*word(w, obj(0, 9)) = B + 10, *word(w, obj(0, 9) + 8) = obj(1, 7);
	*word(w, obj(0, 8)) = B + 10, *word(w, obj(0, 8) + 8) = obj(1, 6);
	*word(w, obj(0, 7)) = obj(0, 9), *word(w, obj(0, 7) + 8) = obj(0, 8);
	*word(w, obj(0, 10)) = BS + 10, *word(w, obj(0, 10) + 16) = obj(0, 7);
	*word(w, obj(0, 11)) = A + 10, *word(w, obj(0, 11) + 8) = obj(0, 10);
	w->data[2] = obj(0, 11);
	scan(w, GRAPH_REACHED, NULL, 0);
	/* Of the register in scan(). */
	assert_int_equal(w->g.objects_cnt, 8);
	return w;
}

static const char wanted[] = "graph LR\n"
			     "  0x1010e0[\"0x1010e0 C\"]\n"
			     "  0x1010c0[\"0x1010c0 C\"]\n"
			     "  0x100120[\"0x100120 B\"] --@c,0--> 0x1010e0\n"
			     "  0x1000e0[\"0x1000e0 (class 0)\"] --@(field 0),1--> 0x100120\n"
			     "  0x100140[\"0x100140 Array(B)\"] --@(field 16),2--> 0x1000e0\n"
			     "  0x100160[\"0x100160 A\"] --@bs,3--> 0x100140\n"
			     "  0x100100[\"0x100100 B\"] --@c,0--> 0x1010c0\n"
			     "  0x1000e0[\"0x1000e0 (class 0)\"] --@(field 8),1--> 0x100100\n";

static struct picture picture_of(const struct world *w, const struct types *t, const struct fields *f)
{
	static const uint32_t ids[] = { C + 10 };
	return (struct picture){ .graph = &w->g,
				 .types = t,
				 .fields = f,
				 .ids = ids,
				 .ids_cnt = 1,
				 .type = "C",
				 .object = GRAPH_NONE,
				 .levels = 5,
				 .limit = 10 };
}

static void test_mermaid(void **state)
{
	(void)state;
	struct world *w = example();
	struct types t = { 0 };
	struct fields f = { 0 };
	struct buf out = { 0 };
	name_types(&t, &f);
	struct picture p = picture_of(w, &t, &f);
	assert_int_equal(picture_mermaid(&p, &out), 0);
	assert_string_equal(buf_str(&out), wanted);
	buf_reset(&out);
	p.levels = 1, p.limit = 1;
	assert_int_equal(picture_mermaid(&p, &out), 0);
	assert_string_equal(buf_str(&out), "graph LR\n  0x1010e0[\"0x1010e0 C\"]\n"
					   "  0x100120[\"0x100120 B\"] --@c,0--> 0x1010e0\n");
	buf_reset(&out);
	p.paths = true;
	assert_int_equal(picture_mermaid(&p, &out), 0);
	assert_non_null(strstr(buf_str(&out), "  root1([\"global\"]) --> 0x100160\n"));
	assert_non_null(strstr(buf_str(&out), "  0x1000e0[\"0x1000e0 (class 0)\"] --@(field 0)--> 0x100120\n"));
	buf_free(&out);
	types_free(&t);
	fields_free(&f);
	world_free(w);
}

static void test_tables(void **state)
{
	(void)state;
	struct world *w = example();
	struct types t = { 0 };
	struct buf out = { 0 };
	name_types(&t, NULL);
	struct picture p = picture_of(w, &t, NULL);
	assert_int_equal(picture_counts(&p, &out), 0);
	assert_string_equal(buf_str(&out), "4\n2\tB\n2\tC\n1\tA\n1\tArray(B)\n");
	buf_reset(&out);
	assert_int_equal(picture_sizes(&p, &out), 0);
	assert_string_equal(buf_str(&out), "4\n224\tA\n192\tArray(B)\n128\tB\n64\tC\n");
	uint64_t bytes;
	assert_int_equal(picture_size(&p, graph_find(&w->g, obj(0, 9)), &bytes), 0);
	assert_int_equal(bytes, 64);
	buf_reset(&out);
	picture_name(&p, graph_find(&w->g, obj(0, 7)), true, &out);
	assert_string_equal(buf_str(&out), "Array(B) (buffer)");
	buf_free(&out);
	types_free(&t);
	world_free(w);
}

/* Referenced by two objects, at its start and inside, and referencing one of them in turn: each counts once. */
static void test_nothing_counts_twice(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct types t = { 0 };
	struct buf out = { 0 };
	uint64_t bytes;
	name_types(&t, NULL);
	*word(w, obj(0, 1)) = B + 10, *word(w, obj(0, 1) + 8) = obj(0, 3), *word(w, obj(0, 1) + 16) = obj(0, 3) + 8;
	*word(w, obj(0, 2)) = B + 10, *word(w, obj(0, 2) + 8) = obj(0, 3);
	*word(w, obj(0, 3)) = C + 10, *word(w, obj(0, 3) + 8) = obj(0, 1), *word(w, obj(0, 3) + 16) = obj(0, 3);
	w->data[0] = obj(0, 1), w->data[1] = obj(0, 2);
	scan(w, GRAPH_REACHED, NULL, 0);
	struct picture p = picture_of(w, &t, NULL);
	assert_int_equal(picture_sizes(&p, &out), 0);
	assert_string_equal(buf_str(&out), "2\n96\tB\n64\tC\n");
	assert_int_equal(picture_size(&p, graph_find(&w->g, obj(0, 2)), &bytes), 0);
	assert_int_equal(bytes, 96);
	buf_free(&out);
	types_free(&t);
	world_free(w);
}

/* --- parts ------------------------------------------------------------------------------------- */

struct file {
	struct buf *parts;
	size_t parts_cnt, parts_cap;
};

static int put_part(void *ctx, const struct buf *part)
{
	struct file *f = ctx;
	struct buf *to = VEC_PUSH(f, parts);
	buf_add(to, part->data, part->len);
	return 0;
}

struct read_back {
	struct graph g;
	struct types t;
	struct fields f;
	struct parts_reader r;
};

static int read_parts(struct read_back *b, const struct file *f)
{
	*b = (struct read_back){ 0 };
	b->r = (struct parts_reader){ .graph = &b->g, .types = &b->t, .fields = &b->f, .max_bytes = 1 << 20 };
	types_begin(&b->t);
	int rc = 0;
	for (size_t i = 0; i < f->parts_cnt && !rc; i++) {
		/* A buffer of its own, so that a sanitizer sees an access beyond its end. */
		uint8_t *exact = malloc(f->parts[i].len + !f->parts[i].len);
		memcpy(exact, f->parts[i].data, f->parts[i].len);
		rc = parts_take(&b->r, exact, f->parts[i].len);
		free(exact);
	}
	return rc ? rc : parts_end(&b->r);
}

static void read_done(struct read_back *b)
{
	graph_free(&b->g);
	types_free(&b->t);
	fields_free(&b->f);
	parts_reader_free(&b->r);
}

static void test_parts(void **state)
{
	(void)state;
	struct world *w = example();
	struct types t = { 0 };
	struct fields f = { 0 };
	struct file file = { 0 };
	struct read_back b;
	struct buf out = { 0 };
	name_types(&t, &f);
	struct picture p = picture_of(w, &t, &f);
	struct parts_facts facts = { .tgid = 12, .frozen_ns = 5, .comm = "x", .exe = "/bin/x" };
	assert_int_equal(parts_encode(&p, &facts, put_part, &file), 0);
	assert_int_equal(read_parts(&b, &file), 0);
	assert_int_equal(b.r.facts.tgid, 12);
	assert_string_equal(b.r.facts.exe, "/bin/x");
	struct picture q = p;
	q.graph = &b.g, q.types = &b.t, q.fields = &b.f;
	assert_int_equal(picture_mermaid(&q, &out), 0);
	assert_string_equal(buf_str(&out), wanted);
	for (uint64_t e = 0; e < w->g.edges_cnt; e++)
		assert_memory_equal(&b.g.out[e], &w->g.out[e], sizeof(*b.g.out));
	read_done(&b);
	/* Each byte of each part damaged, and each part truncated: refused or read, without a crash. */
	for (size_t i = 0; i < file.parts_cnt; i++) {
		for (size_t k = 0; k < file.parts[i].len; k++) {
			for (unsigned int flip = 1; flip < 256; flip = flip * 3 + 1) {
				file.parts[i].data[k] ^= (uint8_t)flip;
				if (!read_parts(&b, &file)) {
					struct picture broken = p;
					broken.graph = &b.g, broken.types = &b.t, broken.fields = &b.f, broken.paths = true;
					buf_reset(&out);
					assert_int_equal(picture_json(&broken, &out), 0);
				}
				read_done(&b);
				file.parts[i].data[k] ^= (uint8_t)flip;
			}
			size_t whole = file.parts[i].len;
			file.parts[i].len = k;
			int rc = read_parts(&b, &file);
			assert_true(rc == -EBADMSG || rc == 0);
			read_done(&b);
			file.parts[i].len = whole;
		}
	}
	for (size_t i = 0; i < file.parts_cnt; i++)
		buf_free(&file.parts[i]);
	free(file.parts);
	buf_free(&out);
	types_free(&t);
	fields_free(&f);
	world_free(w);
}

/* Written before it was told whether an edge leads inside. */
static void test_first_version(void **state)
{
	(void)state;
	static const uint8_t numbers[] = { 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0 };
	struct buf parts[3] = { 0 };
	struct file file = { parts, 3, 0 };
	struct read_back b;
	buf_u8(&parts[0], 1);
	buf_add(&parts[0], numbers, sizeof(numbers));
	buf_add(&parts[0], "\1x\0\1y\0", 6);
	buf_add(&parts[1], "\3\x10\x20\0\0\0\0\x10\x20\0\0\0\0", 13); /* two objects of 32 bytes */
	buf_add(&parts[2], "\4\0\1\3\2", 5);                          /* the fourth word of the first: the second */
	assert_int_equal(read_parts(&b, &file), 0);
	assert_int_equal(b.g.edges_cnt, 1);
	assert_true(b.g.out[0].other == 1 && b.g.out[0].word == 3 && !b.g.out[0].inside);
	read_done(&b);
	for (int i = 0; i < 3; i++)
		buf_free(&parts[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges),          cmocka_unit_test(test_reached),
		cmocka_unit_test(test_first_page_only), cmocka_unit_test(test_excluded_data),
		cmocka_unit_test(test_fibers),          cmocka_unit_test(test_heap_behind_stack),
		cmocka_unit_test(test_marked),          cmocka_unit_test(test_mermaid),
		cmocka_unit_test(test_tables),          cmocka_unit_test(test_nothing_counts_twice),
		cmocka_unit_test(test_parts),           cmocka_unit_test(test_anonymous_memory_beside_a_heap),
		cmocka_unit_test(test_first_version),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
