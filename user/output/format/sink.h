/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink: one file per output format. A sink is a pure function of (catalog, snapshot or events,
 * options) to bytes: same input, same bytes. It asks no process, clock or debug information.
 */
#ifndef ALYS_FORMAT_SINK_H
#define ALYS_FORMAT_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "catalog/catalog.h"
#include "model/model.h"

struct sink_input;
struct skip;

struct sink_options {
	bool indent;                     /* json */
	bool stacks_once;                /* json, jsonl: each stack once, events refer to it by number */
	bool keep_allocator_frames;      /* default: leaf frames inside the allocator are cut */
	const struct skip *skip;         /* additional frames to cut: format/skip.h; NULL = none */
	bool crystal_style;              /* frames read file:line:column in 'name' */
	bool no_addresses;               /* print 0 for addresses */
	const char *value;               /* {alloc,inuse}_{objects,space}; NULL = format's default */
	const char *title;               /* flamegraph */
	size_t top;                      /* text: rows, 0 = all */
	uint64_t from_ns, until_ns;      /* only events of this time range; 0 = no limit */
	bool moment;                     /* pprof, otlp: dated at its end, without a duration */
	double seconds;                  /* flamegraph: length of the recording; values are per second; 0 = totals */
	const struct sink_input *before; /* flamegraph: an earlier recording to compare with; NULL = none */
};

/* Output. A sink calls write with pieces as they are produced; non-zero aborts with that error. */
struct sink_out {
	int (*write)(void *ctx, const void *bytes, size_t n);
	void *ctx;
};

struct sink_input {
	const struct catalog *catalog;
	const struct snapshot *snapshot; /* NULL for event sinks */
	struct heap *heap;               /* event sinks: the heap to which events are applied */
	const struct sink_options *options;
};

struct sink_ops {
	const char *name; /* as given to -f */
	const char *ext;  /* ".json" */
	const char *mime;
	bool binary;        /* not for terminals */
	unsigned int watch; /* enum heap_watch: what the snapshot needs beyond totals */
	/*
	 * Snapshot formats have render only; event formats have begin/event/end only. event() is called after the heap
	 * has applied the event; from begin() on a sink may listen to the heap.
	 */
	int (*render)(const struct sink_input *in, struct sink_out *out, struct err *err);
	int (*begin)(const struct sink_input *in, struct sink_out *out, void **state, struct err *err);
	int (*event)(void *state, const struct event *e, const struct applied *a, struct err *err);
	int (*end)(void *state, struct err *err); /* frees state, also after an error */
};

/*
 * One display stack, innermost first: a snapshot stack with inlined frames expanded, allocator frames cut and wrappers
 * skipped. Shared by all sinks so that they agree.
 */
struct sink_frame {
	const struct symbol *symbol; /* NULL: name below only */
	const struct module *module; /* NULL: unknown */
	struct map_id map;           /* 0: in no known file */
	uint64_t ip;                 /* address in the process; for callers the return address */
	uint64_t pc;                 /* lookup address in the process: that of the call */
	uint64_t rel;                /* lookup address in the module */
	bool inlined;                /* the next frame is its caller in the same machine code */
	bool crystal_style;          /* how its name is written */
};

struct sink_stack {
	struct sink_frame *frames;
	size_t frames_cnt, frames_cap;
	const char *type; /* what the recording knows, see struct stack; or NULL */
	bool touches;     /* it ends at the first touch of a page, in no allocator */
};

/*
 * Fills out (reused; free with sink_stack_free). 0 or -ENOMEM. An unknown stack gives one frame "[lost]" or "[no
 * stack]"; if the walk ended early, "[truncated]" or similar stands for the callers.
 */
int sink_stack_of(const struct catalog *c, const struct sink_options *o, struct stack_id id, struct sink_stack *out);
void sink_stack_free(struct sink_stack *s);
/* How many frames of a stack made with keep_allocator_frames are the allocator's. */
size_t sink_allocator_frames(const struct sink_stack *s);
/* "Foo#bar", else "libx.so+0x12ab", else "[unknown]": cleaned text. In Crystal's style with file and line. */
void sink_frame_name(const struct sink_frame *f, struct buf *out);

#endif
