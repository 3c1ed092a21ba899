/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small recording with one of everything, and readers' views of a trace held in memory. The golden
 * file v1.alys was written from it by test_trace_golden; it is never written again.
 */
#ifndef ALYS_TESTS_TRACE_SAMPLE_H
#define ALYS_TESTS_TRACE_SAMPLE_H

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/trace.h"

#define SAMPLE_EVENTS 61
#define SAMPLE_T0 1000000000ull

static const struct trace_clock sample_clock = { .mono_ns = SAMPLE_T0, .real_ns = 1700000000000000000, .boot_ns = SAMPLE_T0 + 5 };

static inline struct event sample_event(unsigned int i)
{
	struct event e = { .proc = { 1 }, .tid = 100 + i / 7 % 2, .time_ns = SAMPLE_T0 + i * 50000000ull };
	e.addr = 0x7f0000001000 + 64 * (i / 2);
	if (i == 40)
		return (struct event){ .kind = EVENT_LOSS, .lost_kind = EVENT_FREE, .size = 3, .time_ns = e.time_ns };
	if (i == 50)
		return (struct event){ .kind = EVENT_RATE, .interval = 4096, .time_ns = e.time_ns };
	if (i == 59 || i == 60)
		return (struct event){ .kind = i == 59 ? EVENT_EXEC : EVENT_EXIT,
				       .time_ns = e.time_ns,
				       .proc = { i == 59 ? 1 : 2 } };
	e.kind = i % 2 ? EVENT_FREE : EVENT_ALLOC;
	if (e.kind == EVENT_FREE)
		return e;
	e.size = 16 * (1 + i % 5);
	e.stack.n = 1 + i % 3;
	e.flags = EVENT_F_GC | (i % 4 ? EVENT_F_ATOMIC : 0);
	e.gc_no = i / 20;
	e.interval = i > 50 ? 4096 : 0;
	if (i % 10 == 8) {
		e.kind = EVENT_REALLOC;
		e.old_addr = e.addr - 64;
		e.enter_ns = e.time_ns - 700;
	}
	return e;
}

static inline int sample_define(struct trace_writer *w)
{
	struct proc procs[] = {
		{ .id = { 1 }, .tgid = 42, .start_ns = 7, .comm = "server", .exe = "/srv/server" },
		{ .id = { 2 }, .parent = { 1 }, .tgid = 43, .generation = 1, .comm = "child", .exe = "/bin/child" }
	};
	struct module modules[] = {
		{ .id = { 1 }, .path = "/srv/server", .dev = 8, .ino = 99, .build_id = { 0xab, 0xcd, 3 }, .build_id_sz = 3 },
		{ .id = { 2 }, .path = "/lib/libc.so.6", .dev = 8, .ino = 100 }
	};
	struct mapping maps[] = { { .id = { 1 }, .proc = { 1 }, .module = { 1 }, .start = 0x400000, .end = 0x500000 },
				  { .id = { 2 },
				    .proc = { 1 },
				    .module = { 2 },
				    .start = 0x7f0000000000,
				    .end = 0x7f0000200000,
				    .bias = 0x7f0000000000 } };
	struct frame f[] = { { { 2 }, 0x9a000 }, { { 1 }, 0x1234 }, { { 1 }, 0x1300 }, { { 0 }, 0xdeadbeef } };
	struct stack stacks[] = { { .id = { 1 }, .proc = { 1 }, .n = 4, .frames = f },
				  { .id = { 2 }, .proc = { 1 }, .end = STACK_END_TRUNCATED, .n = 3, .frames = f },
				  { .id = { 3 }, .proc = { 1 }, .end = STACK_END_LOST } };
	struct symbol at[] = {
		{ .name = "String#new", .file = "string.cr", .line = 12, .column = 3, .quality = SYMBOL_EXACT, .inlined = true },
		{ .name = "main", .quality = SYMBOL_TABLE }
	};
	struct symbols symbols = { .n = 2, .at = at };
	struct count counts[] = { { "hits-alloc", "calls that allocate", COUNT_HIT, 61 },
				  { "recorded-alloc", "sent", COUNT_RECORDED, 58 },
				  { "ring-full-free", "lost", COUNT_LOST, 3 } };
	int rc = trace_write_meta(w, "kernel", "6.1.0") | trace_write_meta(w, "empty", "");
	for (int i = 0; i < 2; i++)
		rc |= trace_write_proc(w, &procs[i]) | trace_write_module(w, &modules[i]) | trace_write_mapping(w, &maps[i]);
	for (int i = 0; i < 3; i++)
		rc |= trace_write_stack(w, &stacks[i]) | trace_write_count(w, &counts[i]);
	return rc | trace_write_symbols(w, (struct module_id){ 1 }, 0x1233, &symbols);
}

/* Writes the sample through w and closes it. */
static inline int sample_write(struct trace_writer *w)
{
	int rc = sample_define(w);
	for (unsigned int i = 0; i < SAMPLE_EVENTS; i++) {
		struct event e = sample_event(i);
		rc |= trace_write_event(w, &e);
		if (i % 20 == 19)
			rc |= trace_tick(w, e.time_ns + 2000000000);
	}
	return rc | trace_writer_close(w, NULL);
}

struct bytes {
	uint8_t *at;
	size_t n;
};

static inline int memory_file(const void *data, size_t n)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);
	if (fd >= 0 && n && pwrite(fd, data, n, 0) != (ssize_t)n)
		abort();
	return fd;
}

static inline struct bytes file_bytes(int fd)
{
	struct bytes b = { .n = (size_t)lseek(fd, 0, SEEK_END) };
	b.at = malloc(b.n + 1);
	if (pread(fd, b.at, b.n, 0) != (ssize_t)b.n)
		abort();
	return b;
}

/* What a reader finds. Events go to an array. */
struct view {
	int opened, catalog_rc, events_rc;
	struct err err;
	struct trace_health health;
	struct catalog *c;
	struct event *events;
	size_t events_cnt, cap;
};

static inline int view_event(void *ctx, const struct event *e)
{
	struct view *v = ctx;
	if (v->events_cnt == v->cap) {
		v->cap = v->cap ? v->cap * 2 : 64;
		v->events = realloc(v->events, v->cap * sizeof(*e));
	}
	v->events[v->events_cnt++] = *e;
	return 0;
}

static inline struct view view_of(int fd)
{
	struct view v = { .c = catalog_new() };
	struct trace *t = trace_open(fd, "sample", &v.err);
	v.opened = t != NULL;
	if (!t)
		return v;
	v.catalog_rc = trace_read_catalog(t, v.c, &v.health, &v.err);
	v.events_rc = trace_each_event(t, view_event, &v, &v.err);
	trace_close(t);
	return v;
}

static inline void view_free(struct view *v)
{
	catalog_free(v->c);
	free(v->events);
}

#endif
