/* SPDX-License-Identifier: Apache-2.0 */
/* trace/consumer: writes a recording to a trace file. */
#include "trace/trace.h"

#include <errno.h>

static int take_event(void *ctx, const struct event *e)
{
	return trace_write_event(ctx, e);
}

int trace_write_definition(struct trace_writer *w, const struct definition *d)
{
	switch (d->kind) {
	case DEFINITION_META: return trace_write_meta(w, d->meta.key, d->meta.value);
	case DEFINITION_PROC: return trace_write_proc(w, d->proc);
	case DEFINITION_MODULE: return trace_write_module(w, d->module);
	case DEFINITION_MAPPING: return trace_write_mapping(w, d->mapping);
	case DEFINITION_STACK: return trace_write_stack(w, d->stack);
	case DEFINITION_SYMBOLS: return trace_write_symbols(w, d->symbols.module, d->symbols.pc, d->symbols.list);
	case DEFINITION_COUNT: return trace_write_count(w, d->count);
	case DEFINITION_OLDER: return trace_write_older(w, d->older);
	case DEFINITION_CALLED: return trace_write_called(w, d->called);
	case DEFINITION_ERLANG_PROCESS: return trace_write_erlang_process(w, d->erlang);
	}
	return 0;
}

static int take_definition(void *ctx, const struct definition *d)
{
	return trace_write_definition(ctx, d);
}

static void tick(void *ctx, uint64_t now_ns)
{
	trace_tick(ctx, now_ns);
}

static int done(void *ctx)
{
	return trace_unread(ctx) ? -EPIPE : 0;
}

static uint64_t dropped(void *ctx)
{
	return trace_dropped(ctx);
}

struct consumer trace_consumer(struct trace_writer *w)
{
	return (struct consumer){
		.ctx = w, .event = take_event, .define = take_definition, .tick = tick, .done = done, .dropped = dropped
	};
}
