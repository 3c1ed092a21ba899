/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses a recording from a short script into a catalog and events. Times are seconds from the start of the recording;
 * a thread is PROC/TID, PROC alone is the main thread.
 *
 *   meta sample bytes:4096
 *   proc p1 4242 shop
 *   stack A p1 malloc [/lib/libc.so.6] < ~Foo.new [/bin/shop /src/foo.cr:3:5] < main [/bin/shop /src/main.cr:9]
 *   called A p1 30                    calls of the function whose entry is the stack's only frame
 *   0.1 malloc p1 0x10 64 A           "~": inlined into the next frame; "?": code without a name
 *   0.2 realloc p1/4243 0x10 0x20 128 A
 *   0.3 free p1 0x20
 *   0.4 lost free 3      0.5 sample 512      0.6 exec p1      0.7 exit p1
 *   0.7 heapful p1 0x100000053 640 A  all that an Erlang process allocated since its last collection
 *   0.8 malloc p1 0x1000 64 A * 50    50 times, each 64 KiB and a microsecond after the previous one
 */
#ifndef ALYS_TESTS_FEED_H
#define ALYS_TESTS_FEED_H

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/catalog.h"
#include "event/event.h"

#define FEED_MAX 64
#define FEED_FRAMES 32
#define FEED_START_NS 5000000000ull

struct feed {
	struct catalog *c;
	int (*event)(void *ctx, const struct event *e);
	void *ctx;
	char modules[FEED_MAX][128];   /* module n has id n + 1 and is map n + 1 */
	char codes[FEED_MAX * 4][512]; /* one machine frame each; its index is its address */
	char procs[FEED_MAX][32], stacks[FEED_MAX][32];
	uint32_t tgids[FEED_MAX];
	uint64_t interval;
	int line;
};

static inline void feed_die(const struct feed *f, const char *why, const char *what)
{
	fprintf(stderr, "script line %d: %s: %s\n", f->line, why, what);
	abort();
}

/* Index of a text in a table, to which it is added if new. */
static inline uint32_t feed_intern(struct feed *f, char *table, size_t width, size_t cnt, const char *text)
{
	for (size_t i = 0; i < cnt; i++) {
		char *at = table + i * width;
		if (!*at)
			snprintf(at, width, "%s", text);
		if (!strcmp(at, text))
			return (uint32_t)i;
	}
	feed_die(f, "table full or text too long", text);
	return 0;
}

#define FEED_INTERN(f, table, text) \
	feed_intern(f, (f)->table[0], sizeof((f)->table[0]), sizeof((f)->table) / sizeof((f)->table[0]), text)

static inline void feed_module(struct feed *f, const char *path, uint32_t proc, struct map_id *out)
{
	uint32_t n = FEED_INTERN(f, modules, path);
	struct module m = { .id = { n + 1 }, .path = path, .dev = 8, .ino = n + 1 };
	struct mapping map = { .id = { n + 1 }, .proc = { proc }, .module = m.id };
	map.bias = (uint64_t)(n + 1) << 32;
	map.start = map.bias;
	map.end = map.bias + 0x10000;
	catalog_put_module(f->c, &m);
	catalog_put_mapping(f->c, &map);
	*out = map.id;
}

/* Splits "NAME [MODULE FILE:LINE:COLUMN]" in place; true if inlined into the next. */
static inline bool feed_symbol(struct feed *f, char *text, struct symbol *s, char **module)
{
	bool inlined = *text == '~';
	char *name = text + inlined, *open = strrchr(name, '['), *close = open ? strchr(open, ']') : NULL;
	if (!close || open == name)
		feed_die(f, "a frame is NAME [MODULE FILE:LINE:COLUMN]", text);
	*close = 0;
	open[-1] = 0;
	*module = open + 1;
	char *file = strchr(*module, ' ');
	*s = (struct symbol){ .name = strcmp(name, "?") ? name : NULL, .quality = SYMBOL_EXACT, .inlined = inlined };
	if (file) {
		*file++ = 0;
		char *number = strchr(file, ':');
		if (number) {
			*number++ = 0;
			s->line = (uint32_t)strtoul(number, &number, 10);
			s->column = *number ? (uint32_t)strtoul(number + 1, NULL, 10) : 0;
		}
		s->file = file;
	}
	return inlined;
}

static inline void feed_stack(struct feed *f, char *text)
{
	static char parts[FEED_FRAMES][512];
	struct frame frames[FEED_FRAMES];
	struct symbol chain[FEED_FRAMES];
	char name[32], proc[32], key[512] = "", *at = text;
	int used = 0;
	uint32_t n = 0, k = 0, part = 0;
	if (sscanf(at, "%31s %31s %n", name, proc, &used) < 2)
		feed_die(f, "stack NAME PROC FRAME < FRAME ...", text);
	for (at += used; *at; part++) {
		char *end = strstr(at, " < "), *module;
		size_t len = end ? (size_t)(end - at) : strlen(at);
		if (len >= sizeof(parts[0]) || part == FEED_FRAMES)
			feed_die(f, "too long", text);
		snprintf(parts[part], sizeof(parts[0]), "%.*s", (int)len, at);
		snprintf(key + strlen(key), sizeof(key) - strlen(key), "%s", parts[part]);
		at = end ? end + 3 : at + len;
		if (feed_symbol(f, parts[part], &chain[k++], &module))
			continue;
		uint64_t pc = 0x1000 + 16ull * FEED_INTERN(f, codes, key);
		struct symbols all = { k, chain };
		feed_module(f, module, FEED_INTERN(f, procs, proc) + 1, &frames[n].map);
		if (chain[0].name)
			catalog_put_symbols(f->c, (struct module_id){ frames[n].map.n }, pc, &all);
		frames[n].rel = pc + (n ? 1 : 0);
		n++;
		k = 0;
		key[0] = 0;
	}
	struct stack s = {
		.id = { FEED_INTERN(f, stacks, name) + 1 }, .proc = { FEED_INTERN(f, procs, proc) + 1 }, .n = n, .frames = frames
	};
	catalog_put_stack(f->c, &s);
}

static inline void feed_proc(struct feed *f, const char *text)
{
	char name[32], comm[32], exe[64];
	unsigned int tgid;
	if (sscanf(text, "%31s %u %31[^\n]", name, &tgid, comm) != 3)
		feed_die(f, "proc NAME TGID COMM", text);
	uint32_t n = FEED_INTERN(f, procs, name);
	snprintf(exe, sizeof(exe), "/bin/%.30s", comm);
	struct proc p = { .id = { n + 1 }, .tgid = tgid, .start_ns = FEED_START_NS, .comm = comm, .exe = exe };
	f->tgids[n] = tgid;
	catalog_put_proc(f->c, &p);
}

static inline void feed_called(struct feed *f, const char *text)
{
	char stack[32], proc[32];
	struct called n = { 0 };
	if (sscanf(text, "%31s %31s %lu", stack, proc, &n.calls) != 3)
		feed_die(f, "called STACK PROC CALLS", text);
	n.stack.n = FEED_INTERN(f, stacks, stack) + 1;
	n.proc.n = FEED_INTERN(f, procs, proc) + 1;
	catalog_put_called(f->c, &n);
}

static inline void feed_who(struct feed *f, const char *text, struct event *e)
{
	char name[32];
	const char *slash = strchr(text, '/');
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(text, "/"), text);
	uint32_t n = FEED_INTERN(f, procs, name);
	e->proc.n = n + 1;
	e->tid = slash ? (uint32_t)strtoul(slash + 1, NULL, 10) : f->tgids[n];
}

static inline uint32_t feed_kind(const char *verb)
{
	static const char *const verbs[] = {
		[EVENT_ALLOC] = "malloc", [EVENT_REALLOC] = "realloc", [EVENT_FREE] = "free", [EVENT_EXEC] = "exec",
		[EVENT_EXIT] = "exit",    [EVENT_RATE] = "sample",     [EVENT_LOSS] = "lost"
	};
	uint32_t kind = EVENT_ALLOC;
	while (kind <= EVENT_LOSS && strcmp(verbs[kind], verb))
		kind++;
	return kind;
}

static inline void feed_event(struct feed *f, const char *text)
{
	char word[6][32] = { "" };
	double seconds;
	int n = sscanf(text, "%lf %31s %31s %31s %31s %31s %31s", &seconds, word[0], word[1], word[2], word[3], word[4],
		       word[5]) -
		1;
	bool heapful = !strcmp(word[0], "heapful");
	struct event e = { .kind = heapful ? EVENT_ALLOC : (uint8_t)feed_kind(word[0]), .interval = f->interval };
	e.flags = heapful ? EVENT_F_HEAPFUL | EVENT_F_UNFOLLOWED : 0;
	static const int words[] = { [EVENT_ALLOC] = 5, [EVENT_REALLOC] = 6, [EVENT_FREE] = 3, [EVENT_EXEC] = 2,
				     [EVENT_EXIT] = 2,  [EVENT_RATE] = 2,    [EVENT_LOSS] = 3 };
	if (e.kind > EVENT_LOSS || (n != words[e.kind] && !strstr(text, " * ")))
		feed_die(f, "no such event, or words missing", text);
	e.time_ns = FEED_START_NS + (uint64_t)(seconds * 1e9 + 0.5);
	e.enter_ns = e.kind == EVENT_REALLOC ? e.time_ns : 0;
	if (e.kind == EVENT_RATE) {
		f->interval = e.interval = strtoull(word[1], NULL, 0);
	} else if (e.kind == EVENT_LOSS) {
		e.lost_kind = (uint8_t)feed_kind(word[1]);
		e.size = strtoull(word[2], NULL, 0);
	} else {
		feed_who(f, word[1], &e);
	}
	if (e.kind <= EVENT_FREE) {
		bool moves = e.kind == EVENT_REALLOC;
		e.old_addr = moves ? strtoull(word[2], NULL, 0) : 0;
		e.addr = strtoull(word[2 + moves], NULL, 0);
		e.size = strtoull(word[3 + moves], NULL, 0);
		e.stack.n = e.kind == EVENT_FREE || !strcmp(word[4 + moves], "-") ? 0
										  : FEED_INTERN(f, stacks, word[4 + moves]) + 1;
	}
	const char *star = strstr(text, " * ");
	for (unsigned long times = star ? strtoul(star + 3, NULL, 10) : 1; f->event && times; times--) {
		if (f->event(f->ctx, &e))
			feed_die(f, "refused", text);
		e.time_ns += 1000;
		e.enter_ns += e.enter_ns ? 1000 : 0;
		e.addr += 0x10000;
		e.old_addr += e.old_addr ? 0x10000 : 0;
	}
}

static inline void feed_line(struct feed *f, char *line)
{
	char *rest = strchr(line, ' '), *value;
	if (!*line || *line == '#')
		return;
	if (isdigit((unsigned char)*line)) {
		feed_event(f, line);
	} else if (!strncmp(line, "stack ", 6)) {
		feed_stack(f, rest + 1);
	} else if (!strncmp(line, "proc ", 5)) {
		feed_proc(f, rest + 1);
	} else if (!strncmp(line, "called ", 7)) {
		feed_called(f, rest + 1);
	} else if (!strncmp(line, "meta ", 5) && (value = strchr(rest + 1, ' '))) {
		*value = 0;
		catalog_put_meta(f->c, rest + 1, value + 1);
	} else {
		feed_die(f, "neither meta, proc, stack, called nor an event", line);
	}
}

/* Adds definitions to the catalog and passes events to fn, unless NULL. */
static inline void feed_run(const char *script, struct catalog *c, int (*fn)(void *ctx, const struct event *e), void *ctx)
{
	struct feed *f = calloc(1, sizeof(*f));
	char *text = strdup(script), *save = NULL, start[32];
	f->c = c;
	f->event = fn;
	f->ctx = ctx;
	snprintf(start, sizeof(start), "%llu", FEED_START_NS);
	catalog_put_meta(c, "start_mono_ns", start);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		f->line++;
		feed_line(f, line + strspn(line, " \t"));
	}
	free(text);
	free(f);
}

#endif
