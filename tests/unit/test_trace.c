/* SPDX-License-Identifier: Apache-2.0 */
/* trace: what is written is read back, the compatibility rules, segments. */
#include <errno.h>
#include <setjmp.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/framing.h"
#include "unit/trace_sample.h"

static void assert_event(const struct event *a, const struct event *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->lost_kind, b->lost_kind);
	assert_int_equal(a->proc.n, b->proc.n);
	assert_int_equal(a->tid, b->tid);
	assert_int_equal(a->stack.n, b->stack.n);
	assert_true(a->time_ns == b->time_ns);
	assert_true(a->addr == b->addr);
	assert_true(a->old_addr == b->old_addr);
	assert_true(a->size == b->size);
	assert_true(a->enter_ns == b->enter_ns);
	assert_true(a->interval == b->interval);
	assert_true(a->batch == b->batch && a->span == b->span);
	assert_int_equal(a->gc_no, b->gc_no);
	assert_true(a->gc.pause_ns == b->gc.pause_ns && a->gc.heap_sz == b->gc.heap_sz && a->gc.live_sz == b->gc.live_sz);
	assert_true(a->gc.dead_cnt == b->gc.dead_cnt && a->gc.dead_sz == b->gc.dead_sz);
}

static struct bytes sample_bytes(void)
{
	int fd = memory_file(NULL, 0);
	struct trace_writer *w = trace_writer_new(dup(fd), &sample_clock, NULL);
	assert_non_null(w);
	assert_int_equal(sample_write(w), 0);
	struct bytes b = file_bytes(fd);
	close(fd);
	return b;
}

static void test_sample(void **state)
{
	(void)state;
	struct bytes b = sample_bytes();
	struct view v = view_of(memory_file(b.at, b.n));
	assert_true(v.opened);
	assert_int_equal(v.catalog_rc, 0);
	assert_int_equal(v.events_rc, 0);
	assert_true(v.health.clean_end);
	assert_int_equal(v.health.bad_frames, 0);
	assert_int_equal(v.health.skipped_bytes, 0);
	assert_int_equal(v.health.bytes, b.n);
	assert_int_equal(v.health.events, SAMPLE_EVENTS);
	assert_true(v.health.frames > 4);
	assert_memory_equal(&v.health.clock, &sample_clock, sizeof(sample_clock));
	assert_int_equal(v.events_cnt, SAMPLE_EVENTS);
	for (unsigned int i = 0; i < SAMPLE_EVENTS; i++) {
		struct event e = sample_event(i);
		assert_event(&v.events[i], &e);
	}
	view_free(&v);
	free(b.at);
}

static void test_definitions(void **state)
{
	(void)state;
	struct bytes b = sample_bytes();
	struct view v = view_of(memory_file(b.at, b.n));
	const struct proc *p = catalog_proc(v.c, (struct proc_id){ 2 });
	assert_int_equal(p->parent.n, 1);
	assert_int_equal(p->generation, 1);
	assert_string_equal(p->exe, "/bin/child");
	const struct module *m = catalog_module(v.c, (struct module_id){ 1 });
	assert_int_equal(m->build_id_sz, 3);
	assert_int_equal(m->build_id[1], 0xcd);
	assert_int_equal(m->ino, 99);
	const struct mapping *g = catalog_mapping(v.c, (struct map_id){ 2 });
	assert_true(g->end == 0x7f0000200000 && g->bias == 0x7f0000000000);
	const struct stack *s = catalog_stack(v.c, (struct stack_id){ 1 });
	assert_int_equal(s->n, 4);
	assert_int_equal(s->frames[0].map.n, 2);
	assert_int_equal(s->frames[3].map.n, 0);
	assert_int_equal(s->frames[3].rel, 0xdeadbeef);
	assert_int_equal(catalog_stack(v.c, (struct stack_id){ 2 })->end, STACK_END_TRUNCATED);
	const struct symbols *y = catalog_symbols(v.c, (struct module_id){ 1 }, 0x1233);
	assert_int_equal(y->n, 2);
	assert_string_equal(y->at[0].name, "String#new");
	assert_int_equal(y->at[0].column, 3);
	assert_true(y->at[0].inlined && !y->at[1].inlined);
	assert_null(y->at[1].file);
	assert_int_equal(y->at[1].quality, SYMBOL_TABLE);
	assert_string_equal(catalog_meta(v.c, "empty"), "");
	assert_int_equal(catalog_count(v.c, "ring-full-free"), 3);
	assert_int_equal(catalog_sum(v.c, COUNT_LOST), 3);
	view_free(&v);
	free(b.at);
}

/* Since 1.4 a trace says which symbols are an allocator's and the type of a stack's objects; older files do not. */
static void test_recorded_facts(void **state)
{
	(void)state;
	int fd = memory_file(NULL, 0);
	struct trace_writer *w = trace_writer_new(dup(fd), &sample_clock, NULL);
	struct symbol at[] = { { .name = "malloc", .quality = SYMBOL_TABLE, .owner = SYMBOL_OWNER_ALLOCATOR, .inlined = true },
			       { .quality = SYMBOL_MODULE, .owner = SYMBOL_OWNER_PROGRAM },
			       { .name = "old", .quality = SYMBOL_EXACT } };
	const struct frame frame = { { 1 }, 0x1234 };
	const struct stack stack = { .id = { 7 }, .proc = { 1 }, .n = 1, .frames = &frame, .type = "Foo (buffer)" };
	assert_int_equal(sample_define(w), 0);
	assert_int_equal(trace_write_stack(w, &stack), 0);
	assert_int_equal(trace_write_symbols(w, (struct module_id){ 1 }, 0x99, &(struct symbols){ 3, at }), 0);
	assert_int_equal(trace_writer_close(w, NULL), 0);
	struct view v = view_of(fd);
	assert_int_equal(v.catalog_rc, 0);
	const struct symbols *y = catalog_symbols(v.c, (struct module_id){ 1 }, 0x99);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(y->at[i].owner, at[i].owner);
		assert_int_equal(y->at[i].quality, at[i].quality);
		assert_int_equal(y->at[i].inlined, at[i].inlined);
	}
	assert_string_equal(catalog_stack(v.c, (struct stack_id){ 7 })->type, "Foo (buffer)");
	assert_null(catalog_stack(v.c, (struct stack_id){ 1 })->type);
	view_free(&v);
	struct view golden = view_of(open("tests/golden/v1.alys", O_RDONLY | O_CLOEXEC));
	assert_int_equal(golden.catalog_rc, 0);
	assert_int_equal(catalog_symbols(golden.c, (struct module_id){ 1 }, 0x1233)->at[0].owner, SYMBOL_OWNER_UNKNOWN);
	assert_null(catalog_stack(golden.c, (struct stack_id){ 1 })->type);
	view_free(&golden);
}

/* Since 1.6: the last value of a function counts, and its stack comes with it. */
static void test_calls(void **state)
{
	(void)state;
	int fd = memory_file(NULL, 0);
	struct trace_writer *w = trace_writer_new(dup(fd), &sample_clock, NULL);
	const struct frame entry = { { 1 }, 0x1200 };
	const struct stack stack = { .id = { 9 }, .proc = { 1 }, .n = 1, .frames = &entry };
	assert_int_equal(sample_define(w), 0);
	assert_int_equal(trace_write_stack(w, &stack), 0);
	for (uint64_t n = 1; n < 4; n++)
		assert_int_equal(trace_write_called(w, &(struct called){ { 1 }, { 9 }, n << 40 }), 0);
	assert_int_equal(trace_write_called(w, &(struct called){ { 0 }, { 9 }, 1 }), -EINVAL);
	assert_int_equal(trace_writer_close(w, NULL), 0);
	struct view v = view_of(fd);
	size_t i = 0;
	assert_int_equal(v.catalog_rc, 0);
	const struct called *n = catalog_next_called(v.c, &i);
	assert_int_equal(n->calls, 3ull << 40);
	assert_int_equal(n->proc.n, 1);
	assert_int_equal(catalog_stack(v.c, n->stack)->frames[0].rel, 0x1200);
	assert_null(catalog_next_called(v.c, &i));
	view_free(&v);
}

/* Since 1.7: the last name of a process of a VM counts, and another VM may have the same. */
static void test_erlang_processes(void **state)
{
	(void)state;
	int fd = memory_file(NULL, 0);
	struct trace_writer *w = trace_writer_new(dup(fd), &sample_clock, NULL);
	const struct erlang_process rows[] = {
		{ { 1 }, 0x53, "lists:seq/2" }, { { 1 }, 0x53, "café" }, { { 1 }, 1ull << 40, "x" }, { { 2 }, 0x53, "y" }
	};
	assert_int_equal(sample_define(w), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(trace_write_erlang_process(w, &rows[i]), 0);
	assert_int_equal(trace_write_erlang_process(w, &(struct erlang_process){ { 0 }, 1, "z" }), -EINVAL);
	assert_int_equal(trace_writer_close(w, NULL), 0);
	struct view v = view_of(fd);
	assert_int_equal(v.catalog_rc, 0);
	for (size_t i = 1; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct erlang_process *found = catalog_erlang_process(v.c, rows[i].proc, rows[i].process);
		assert_non_null(found);
		assert_string_equal(found->name, rows[i].name);
	}
	assert_null(catalog_erlang_process(v.c, (struct proc_id){ 2 }, 1ull << 40));
	view_free(&v);
}

/* Equal values are written once; the last value counts, and values of one process do not apply to another. */
static void test_older_objects(void **state)
{
	(void)state;
	int fd = memory_file(NULL, 0);
	struct trace_writer *w = trace_writer_new(dup(fd), &sample_clock, NULL);
	const struct older rows[] = { { { 1 }, "Foo", 30, 900 }, { { 1 }, "(buffer)", 7, 70000 }, { { 2 }, "Foo", 1, 16 },
				      { { 1 }, "Foo", 20, 600 }, { { 1 }, "(buffer)", 0, 0 },     { { 1 }, "Never", 0, 0 } };
	assert_int_equal(sample_define(w), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(trace_write_older(w, &rows[i]), 0);
		assert_int_equal(trace_write_older(w, &rows[i]), 0);
	}
	assert_int_equal(trace_writer_close(w, NULL), 0);
	struct bytes b = file_bytes(fd);
	close(fd);
	struct view v = view_of(memory_file(b.at, b.n));
	assert_int_equal(v.catalog_rc, 0);
	assert_int_equal(v.health.minor, 7);
	assert_int_equal(catalog_older(v.c, (struct proc_id){ 1 }, "Foo")->cnt, 20);
	assert_int_equal(catalog_older(v.c, (struct proc_id){ 1 }, "Foo")->bytes, 600);
	assert_int_equal(catalog_older(v.c, (struct proc_id){ 2 }, "Foo")->cnt, 1);
	assert_int_equal(catalog_older(v.c, (struct proc_id){ 1 }, "(buffer)")->cnt, 0);
	assert_null(catalog_older(v.c, (struct proc_id){ 1 }, "Never"));
	size_t n = 0;
	for (size_t i = 0; catalog_next_older(v.c, &i);)
		n++;
	assert_int_equal(n, 3);
	view_free(&v);
	free(b.at);
}

/* Every field of every kind, also where it has no meaning, at the ends of its range. */
static void test_extremes(void **state)
{
	(void)state;
	static struct event in[5000];
	int fd = memory_file(NULL, 0);
	struct trace_writer *w = trace_writer_new(dup(fd), &sample_clock, NULL);
	srandom(3);
	for (size_t i = 0; i < 5000; i++) {
#define PICK                                                         \
	(random() % 3 == 0   ? 0                                     \
	 : random() % 3 == 0 ? UINT64_MAX - (uint64_t)(random() % 2) \
			     : (uint64_t)random() << (random() % 34))
		struct event e = { .kind = (uint8_t)PICK,
				   .flags = (uint8_t)PICK,
				   .lost_kind = (uint8_t)PICK,
				   .proc = { (uint32_t)PICK },
				   .tid = (uint32_t)PICK,
				   .stack = { (uint32_t)PICK },
				   .time_ns = PICK,
				   .addr = PICK,
				   .old_addr = PICK,
				   .size = PICK,
				   .enter_ns = PICK,
				   .interval = PICK,
				   .batch = (uint32_t)PICK,
				   .span = (uint32_t)PICK,
				   .gc_no = (uint32_t)PICK };
		if (i % 2)
			e.kind = (uint8_t)(1 + i % 8);
		if (e.kind == EVENT_GC) {
			e.gc.pause_ns = PICK;
			e.gc.heap_sz = PICK;
			e.gc.live_sz = PICK;
			e.gc.dead_cnt = PICK;
			e.gc.dead_sz = PICK;
		}
		in[i] = e;
		assert_int_equal(trace_write_event(w, &e), 0);
	}
	assert_int_equal(trace_writer_close(w, NULL), 0);
	struct view v = view_of(fd);
	assert_int_equal(v.events_cnt, 5000);
	for (size_t i = 0; i < 5000; i++)
		assert_event(&v.events[i], &in[i]);
	assert_int_equal(v.health.bad_frames, 0);
	view_free(&v);
}

static void test_long_texts_and_stacks(void **state)
{
	(void)state;
	static struct frame frames[TRACE_STACK_MAX + 10];
	static char text[100000];
	memset(text, 'x', sizeof(text) - 1);
	struct stack s = { .id = { UINT32_MAX }, .proc = { 9 }, .n = TRACE_STACK_MAX + 10, .frames = frames };
	for (size_t i = 0; i < TRACE_STACK_MAX; i++)
		frames[i] = (struct frame){ { (uint32_t)i * 3000000001u }, i * 0x9e3779b97f4a7c15 };
	int fd = memory_file(NULL, 0);
	struct trace_writer *w = trace_writer_new(dup(fd), &sample_clock, NULL);
	assert_int_equal(trace_write_meta(w, "long", text), 0);
	assert_int_equal(trace_write_stack(w, &s), 0);
	s.id.n = 0;
	assert_int_equal(trace_write_stack(w, &s), -EINVAL);
	assert_int_equal(trace_writer_close(w, NULL), 0);
	struct view v = view_of(fd);
	assert_int_equal(v.health.bad_frames, 0);
	assert_int_equal(strlen(catalog_meta(v.c, "long")), TRACE_TEXT_MAX);
	const struct stack *got = catalog_stack(v.c, (struct stack_id){ UINT32_MAX });
	assert_int_equal(got->n, TRACE_STACK_MAX);
	assert_int_equal(got->end, STACK_END_TRUNCATED);
	assert_memory_equal(got->frames, frames, TRACE_STACK_MAX * sizeof(*frames));
	view_free(&v);
}

/* Puts the header's checksum right after a change. */
static struct view view_with_header(struct bytes b)
{
	uint32_t crc = frame_crc(b.at, 60);
	memcpy(b.at + 60, &crc, 4);
	struct view v = view_of(memory_file(b.at, b.n));
	return v;
}

static void test_versions(void **state)
{
	(void)state;
	struct bytes b = sample_bytes();
	b.at[10] = 77; /* minor */
	b.at[24] = 1;  /* a feature that may be ignored */
	struct view v = view_with_header(b);
	assert_int_equal(v.events_cnt, SAMPLE_EVENTS);
	assert_int_equal(v.health.minor, 77);
	view_free(&v);
	b.at[23] = 0x80; /* a feature that must be known */
	v = view_with_header(b);
	assert_false(v.opened);
	assert_int_equal(v.err.code, EPROTONOSUPPORT);
	view_free(&v);
	b.at[23] = 0;
	b.at[8] = 2; /* major */
	v = view_with_header(b);
	assert_false(v.opened);
	assert_int_equal(v.err.code, EPROTONOSUPPORT);
	view_free(&v);
	b.at[8] = 1;
	b.at[12] = 63; /* header length */
	v = view_with_header(b);
	assert_false(v.opened);
	view_free(&v);
	free(b.at);
}

/* A longer header and a frame of an unknown type in front of the others. */
static struct view view_with_frame(uint16_t flags)
{
	struct bytes b = sample_bytes();
	struct buf out = { 0 };
	struct frame_head h = {
		.type = 999, .flags = flags, .stored_len = 5, .raw_len = 5, .payload_crc = frame_crc("hello", 5)
	};
	buf_add(&out, b.at, TRACE_HEADER_SZ);
	buf_add(&out, "newer fd", 8);
	out.data[12] = TRACE_HEADER_SZ + 8;
	uint32_t crc = frame_crc(out.data, 60);
	memcpy(out.data + 60, &crc, 4);
	frame_head_encode(&out, &h);
	buf_add(&out, "hello\0\0\0", 8);
	for (size_t at = TRACE_HEADER_SZ; at < b.n;) {
		assert_true(frame_head_decode(b.at + at, &h));
		size_t len = FRAME_HEAD_SZ + frame_padded(h.stored_len);
		h.seq++;
		frame_head_encode(&out, &h);
		buf_add(&out, b.at + at + FRAME_HEAD_SZ, len - FRAME_HEAD_SZ);
		at += len;
	}
	struct view v = view_of(memory_file(out.data, out.len));
	buf_free(&out);
	free(b.at);
	return v;
}

static void test_unknown_frames(void **state)
{
	(void)state;
	struct view v = view_with_frame(FRAME_F_OPTIONAL);
	assert_int_equal(v.events_cnt, SAMPLE_EVENTS);
	assert_int_equal(v.health.skipped_frames, 1);
	assert_int_equal(v.health.bad_frames, 0);
	assert_true(v.health.clean_end);
	view_free(&v);
	v = view_with_frame(0);
	assert_int_equal(v.catalog_rc, -EPROTONOSUPPORT);
	assert_int_equal(v.events_rc, -EPROTONOSUPPORT);
	view_free(&v);
	v = view_with_frame(FRAME_F_OPTIONAL | 0x80); /* an unknown flag, too */
	assert_int_equal(v.health.skipped_frames, 1);
	view_free(&v);
}

static void test_not_a_trace(void **state)
{
	(void)state;
	const char *inputs[] = { "",
				 "\x89"
				 "ALYS",
				 "{\"a\": \"json file that is longer than sixty-four bytes, see here: ...\"}" };
	for (size_t i = 0; i < 3; i++) {
		struct view v = view_of(memory_file(inputs[i], strlen(inputs[i])));
		assert_false(v.opened);
		assert_int_equal(v.err.code, EINVAL);
		assert_true(v.err.text[0] != 0);
		view_free(&v);
	}
	int p[2];
	assert_int_equal(pipe(p), 0);
	struct view v = view_of(p[0]);
	assert_false(v.opened);
	view_free(&v);
	close(p[1]);
}

static int stop_at_10(void *ctx, const struct event *e)
{
	(void)e;
	return ++*(int *)ctx == 10 ? 123 : 0;
}

static void test_stop_and_read_again(void **state)
{
	(void)state;
	struct bytes b = sample_bytes();
	struct trace *t = trace_open(memory_file(b.at, b.n), "sample", NULL);
	int seen = 0;
	assert_int_equal(trace_each_event(t, stop_at_10, &seen, NULL), 123);
	assert_int_equal(seen, 10);
	seen = -1000;
	assert_int_equal(trace_each_event(t, stop_at_10, &seen, NULL), 0);
	assert_int_equal(seen, -1000 + SAMPLE_EVENTS);
	trace_close(t);
	free(b.at);
}

/* Without the first segment everything that later events name is still there. */
static void test_segments_stand_alone(void **state)
{
	(void)state;
	int fd = memory_file(NULL, 0);
	struct trace_writer *w = trace_writer_new(dup(fd), &sample_clock, NULL);
	trace_writer_set_segment(w, 20000);
	assert_int_equal(sample_define(w), 0);
	assert_int_equal(trace_write_erlang_process(w, &(struct erlang_process){ { 1 }, 0x53, "init" }), 0);
	struct event e = sample_event(0);
	for (unsigned int i = 0; i < 200000; i++) {
		e.time_ns += 1000 + (unsigned int)random() % 1000;
		e.stack.n = 1 + i % 3;
		e.addr = 16u * ((unsigned int)random() % 100000 + 1);
		assert_int_equal(trace_write_event(w, &e), 0);
	}
	assert_int_equal(trace_writer_close(w, NULL), 0);
	struct bytes b = file_bytes(fd);
	close(fd);
	assert_true(b.n > 200000);
	memset(b.at + TRACE_HEADER_SZ, 0, b.n / 2);
	struct view v = view_of(memory_file(b.at, b.n));
	assert_int_equal(v.health.bad_frames, 1);
	assert_true(v.health.skipped_bytes >= b.n / 2);
	assert_true(v.health.clean_end);
	assert_true(v.events_cnt > 80000 && v.events_cnt < 100000);
	for (uint32_t i = 1; i <= 3; i++)
		assert_non_null(catalog_stack(v.c, (struct stack_id){ i }));
	assert_non_null(catalog_proc(v.c, (struct proc_id){ 1 }));
	assert_string_equal(catalog_module(v.c, (struct module_id){ 2 })->path, "/lib/libc.so.6");
	assert_non_null(catalog_mapping(v.c, (struct map_id){ 1 }));
	assert_string_equal(catalog_meta(v.c, "kernel"), "6.1.0");
	assert_non_null(catalog_erlang_process(v.c, (struct proc_id){ 1 }, 0x53));
	view_free(&v);
	free(b.at);
}

/* A file that begins within a recording has only the parts of the catalog that its events refer to. */
static void test_over_a_catalog(void **state)
{
	(void)state;
	int fd = memory_file(NULL, 0), rest = memory_file(NULL, 0);
	struct trace_writer *all = trace_writer_new(dup(fd), &sample_clock, NULL);
	assert_int_equal(sample_define(all), 0);
	assert_int_equal(trace_writer_close(all, NULL), 0);
	struct view known = view_of(dup(fd)), other = view_of(fd);
	struct trace_writer *w = trace_writer_over(dup(rest), &sample_clock, known.c, NULL);
	struct consumer out = trace_consumer(w);
	struct event e = sample_event(0);
	e.stack.n = 1;
	assert_int_equal(consumer_meta(&out, "kernel", "of the file"), 0);
	assert_int_equal(consumer_event(&out, &e), 0);
	assert_true(trace_has_stack(w, (struct stack_id){ 1 }));
	assert_false(trace_has_stack(w, (struct stack_id){ 2 }));
	trace_writer_follow(w, other.c);
	view_free(&known);
	e.stack.n = 2;
	assert_int_equal(consumer_event(&out, &e), 0);
	assert_int_equal(consumer_done(&out), 0);
	assert_int_equal(trace_writer_close(w, NULL), 0);
	struct view v = view_of(rest);
	assert_int_equal(catalog_stack(v.c, (struct stack_id){ 1 })->n, 4);
	assert_int_equal(catalog_stack(v.c, (struct stack_id){ 2 })->n, 3);
	assert_null(catalog_stack(v.c, (struct stack_id){ 3 }));
	assert_string_equal(catalog_module(v.c, (struct module_id){ 2 })->path, "/lib/libc.so.6");
	assert_string_equal(catalog_proc(v.c, (struct proc_id){ 1 })->comm, "server");
	assert_null(catalog_proc(v.c, (struct proc_id){ 2 }));
	assert_string_equal(catalog_meta(v.c, "kernel"), "of the file");
	assert_null(catalog_meta(v.c, "empty"));
	assert_int_equal(v.events_cnt, 2);
	view_free(&v);
	view_free(&other);
}

/* A frame of events is written after a second at most. */
static void test_tick(void **state)
{
	(void)state;
	int fd = memory_file(NULL, 0);
	struct trace_writer *w = trace_writer_new(dup(fd), &sample_clock, NULL);
	assert_int_equal(sample_define(w), 0);
	assert_int_equal(trace_tick(w, SAMPLE_T0 + 1), 0);
	struct event e = sample_event(0);
	assert_int_equal(trace_write_event(w, &e), 0);
	uint64_t before = trace_bytes(w);
	assert_int_equal(trace_tick(w, SAMPLE_T0 + 900000000), 0);
	assert_int_equal(trace_bytes(w), before);
	assert_int_equal(trace_tick(w, SAMPLE_T0 + 1100000000), 0);
	assert_true(trace_bytes(w) > before);
	struct view v = view_of(dup(fd)); /* as after a kill -9 */
	assert_int_equal(v.events_cnt, 1);
	assert_false(v.health.clean_end);
	assert_int_equal(v.health.bad_frames, 0);
	view_free(&v);
	assert_int_equal(trace_writer_close(w, NULL), 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sample),
		cmocka_unit_test(test_definitions),
		cmocka_unit_test(test_recorded_facts),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_erlang_processes),
		cmocka_unit_test(test_older_objects),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_long_texts_and_stacks),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_unknown_frames),
		cmocka_unit_test(test_not_a_trace),
		cmocka_unit_test(test_stop_and_read_again),
		cmocka_unit_test(test_segments_stand_alone),
		cmocka_unit_test(test_over_a_catalog),
		cmocka_unit_test(test_tick),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
