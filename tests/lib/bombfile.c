/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes valid traces that expand enormously, to test limits on memory and time: bombfile KIND BYTES OUT.alys.
 * Each kind repeats one record with new ids until the file has that size.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/trace.h"

#define DEPTH 4096
#define INLINED 256

static char long_text[16000];
static struct frame frames[DEPTH];
static struct symbol symbols[INLINED];

/* Stacks of maximum depth, with one frame repeated because that compresses best. */
static void put_stack(struct trace_writer *w, uint32_t n)
{
	struct stack s = { .id = { n }, .proc = { 1 }, .n = DEPTH, .frames = frames };
	trace_write_stack(w, &s);
}

static void put_alloc(struct trace_writer *w, uint32_t n, uint32_t proc, uint32_t stack)
{
	struct event e = {
		.kind = EVENT_ALLOC, .proc = { proc }, .tid = 1, .stack = { stack }, .addr = 16ull * n, .size = 16, .time_ns = n
	};
	trace_write_event(w, &e);
}

static void put_used_stack(struct trace_writer *w, uint32_t n)
{
	put_stack(w, n);
	put_alloc(w, n, 1, n);
}

static void put_events(struct trace_writer *w, uint32_t n)
{
	put_alloc(w, n, 1, 1);
}

static void put_rows(struct trace_writer *w, uint32_t n)
{
	put_alloc(w, n, 1, n);
}

static void put_heaps(struct trace_writer *w, uint32_t n)
{
	put_alloc(w, n, n, 1);
}

static void put_proc(struct trace_writer *w, uint32_t n)
{
	struct proc p = { .id = { n }, .tgid = 1, .comm = "bomb", .exe = "/bomb" };
	trace_write_proc(w, &p);
}

static void put_module(struct trace_writer *w, uint32_t n)
{
	struct symbols s = { .n = 1, .at = symbols };
	trace_write_symbols(w, (struct module_id){ n }, 1, &s);
}

static void put_symbols(struct trace_writer *w, uint32_t n)
{
	struct symbols s = { .n = INLINED, .at = symbols };
	trace_write_symbols(w, (struct module_id){ 1 }, n, &s);
}

static void put_text(struct trace_writer *w, uint32_t n)
{
	snprintf(long_text + sizeof(long_text) - 12, 12, "%u", n);
	trace_write_meta(w, long_text, "");
}

/* Few definitions, but each frame has many inlined functions with long names. */
static void put_expanding(struct trace_writer *w, uint32_t n)
{
	struct module m = { .id = { 1 }, .path = "/bomb" };
	struct mapping map = { .id = { 1 }, .proc = { 1 }, .module = { 1 }, .end = 1ull << 40 };
	if (n == 1) {
		long_text[3000] = 0; /* a record is at most 1 MiB */
		for (size_t i = 0; i < INLINED; i++)
			symbols[i] = (struct symbol){ .name = long_text, .quality = 3, .inlined = i + 1 < INLINED };
		for (size_t i = 0; i < DEPTH; i++)
			frames[i] = (struct frame){ .map = { 1 }, .rel = i ? 2 : 1 };
		trace_write_module(w, &m);
		trace_write_mapping(w, &map);
		put_symbols(w, 1);
	}
	put_used_stack(w, n);
}

static const struct {
	const char *name;
	void (*put)(struct trace_writer *w, uint32_t n);
} kinds[] = {
	{ "stacks", put_stack }, { "used-stacks", put_used_stack }, { "events", put_events },  { "rows", put_rows },
	{ "heaps", put_heaps },  { "processes", put_proc },         { "modules", put_module }, { "inlined", put_symbols },
	{ "texts", put_text },   { "expanding", put_expanding },
};

int main(int argc, char **argv)
{
	const struct trace_clock clock = { .mono_ns = 1 };
	int fd = argc == 4 ? open(argv[3], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
	struct trace_writer *w = fd < 0 ? NULL : trace_writer_new(fd, &clock, NULL);
	if (!w) {
		fprintf(stderr, "usage: bombfile KIND BYTES OUT.alys\n");
		return 2;
	}
	memset(long_text, 'y', sizeof(long_text) - 1);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		for (uint32_t n = 1; !strcmp(kinds[k].name, argv[1]) && trace_bytes(w) < strtoull(argv[2], NULL, 10); n++)
			kinds[k].put(w, n);
	}
	return trace_writer_close(w, NULL) ? 1 : 0;
}
