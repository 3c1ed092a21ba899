/* SPDX-License-Identifier: Apache-2.0 */
/* Converts a script (see feed.h) to a trace: feedfile OUT.alys < SCRIPT. */
#include <fcntl.h>
#include <unistd.h>

#include "lib/feed.h"
#include "trace/trace.h"

static int put_event(void *ctx, const struct event *e)
{
	return trace_write_event(ctx, e);
}

static void put_stack(struct trace_writer *w, const struct catalog *c, const struct stack *s)
{
	trace_write_stack(w, s);
	for (uint32_t i = 0; i < s->n; i++) {
		const struct mapping *m = catalog_mapping(c, s->frames[i].map);
		uint64_t pc = frame_pc(&s->frames[i], i);
		const struct symbols *all = m ? catalog_symbols(c, m->module, pc) : NULL;
		if (all)
			trace_write_symbols(w, m->module, pc, all);
	}
}

static void put_catalog(struct trace_writer *w, const struct catalog *c)
{
	const char *key, *value;
	const struct proc *p;
	const struct module *m;
	const struct mapping *map;
	const struct stack *s;
	const struct called *called;
	for (size_t i = 0; catalog_next_meta(c, &i, &key, &value);)
		trace_write_meta(w, key, value);
	for (size_t i = 0; (p = catalog_next_proc(c, &i));)
		trace_write_proc(w, p);
	for (size_t i = 0; (m = catalog_next_module(c, &i));)
		trace_write_module(w, m);
	for (size_t i = 0; (map = catalog_next_mapping(c, &i));)
		trace_write_mapping(w, map);
	for (size_t i = 0; (s = catalog_next_stack(c, &i));)
		put_stack(w, c, s);
	for (size_t i = 0; (called = catalog_next_called(c, &i));)
		trace_write_called(w, called);
}

int main(int argc, char **argv)
{
	static char script[1 << 20];
	const struct trace_clock clock = { .mono_ns = FEED_START_NS, .real_ns = 1700000000000000000 };
	size_t n = fread(script, 1, sizeof(script) - 1, stdin);
	int fd = argc == 2 && n ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
	struct catalog *c = catalog_new();
	struct trace_writer *w = fd < 0 || !c ? NULL : trace_writer_new(fd, &clock, NULL);
	if (!w) {
		fprintf(stderr, "usage: feedfile OUT.alys < SCRIPT\n");
		return 2;
	}
	/* Definitions first: they must precede the events that use them. */
	feed_run(script, c, NULL, NULL);
	put_catalog(w, c);
	feed_run(script, c, put_event, w);
	int rc = trace_writer_close(w, NULL);
	catalog_free(c);
	return rc ? 1 : 0;
}
