/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapview/dumpfile: see dumpfile.h. The dump is a trace of one moment: one process, and an event per live object, with
 * the type in its stack. The stack is that of the allocation site if known. If there is none, or it does not name the
 * object's type, a synthetic frame does, for people and for older readers.
 */
#include "heapview/dumpfile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "format/sink.h"
#include "format/type.h"
#include "heapgraph/parts.h"
#include "heapreader/heap_worker.h"

#define ALLOCATOR_PC 1 /* pc of a frame that every reader takes for the allocator's own */
#define TYPES_PC 16    /* pcs of synthetic frames for types begin here */

struct dump {
	struct objects *o; /* sites are stored in its graph */
	const struct blocks *sites;
	struct trace_writer *w;
	struct proc_id proc;
	struct module_id module;
	struct map_id map;
	uint32_t stacks;   /* ids used so far */
	struct map frames; /* type number << 1 | owned -> pc */
	struct map known;  /* site << 32 | pc -> stack id */
	struct map copied; /* what was written of the sites' catalog: modules, mappings, symbols, distinguished by high bits */
	int rc;
};

static void note(struct dump *d, int rc)
{
	if (rc && !d->rc)
		d->rc = rc;
}

/* True for a key that is new in the map. */
static bool first(struct dump *d, struct map *m, uint64_t key)
{
	size_t known = m->count;
	if (!map_put(m, key))
		note(d, -ENOMEM);
	return m->count != known;
}

static void write_name(struct dump *d, uint64_t pc, const char *name, enum symbol_owner owner)
{
	struct symbol s = { .name = name, .quality = SYMBOL_TABLE, .owner = (uint8_t)owner };
	note(d, trace_write_symbols(d->w, d->module, pc, &(struct symbols){ 1, &s }));
}

/* The type of an object; for raw memory with exactly one holder, the holder's. */
struct known_type {
	uint32_t number; /* 0 = unknown */
	bool owned;
};

static struct known_type type_of_object(const struct dump *d, const struct graph_object *o)
{
	const struct graph *g = &d->o->graph;
	bool owned = !o->type && o->owner != GRAPH_NONE;
	return (struct known_type){ owned ? g->objects[o->owner].type : o->type, owned };
}

static void class_text(const struct dump *d, uint32_t type, struct buf *out)
{
	if (type)
		types_text(&d->o->types, type, out);
	else
		buf_adds(out, "(class 0)");
}

/* Address of the synthetic frame that shows the type. */
static uint64_t type_frame(struct dump *d, const struct known_type *t)
{
	uint64_t *pc = map_put(&d->frames, (uint64_t)t->number << 1 | t->owned);
	if (!pc) {
		note(d, -ENOMEM);
		return ALLOCATOR_PC;
	}
	if (!*pc) {
		*pc = TYPES_PC + d->frames.count * 16;
		uint64_t at = *pc;
		struct buf of = { 0 }, name = { 0 };
		class_text(d, t->number, &of);
		type_function(buf_str(&of), t->owned, &name);
		write_name(d, at, buf_str(&name), SYMBOL_OWNER_PROGRAM);
		buf_free(&name);
		buf_free(&of);
		return at;
	}
	return *pc;
}

/* Writes the module, mapping and symbols of a frame, each once. */
static void copy_frame(struct dump *d, const struct frame *f, uint32_t index)
{
	const struct catalog *c = d->sites->replay.catalog;
	const struct mapping *map = f->map.n ? catalog_mapping(c, f->map) : NULL;
	if (!map)
		return;
	const struct module *module = catalog_module(c, map->module);
	if (module && first(d, &d->copied, 1ull << 62 | module->id.n))
		note(d, trace_write_module(d->w, module));
	if (first(d, &d->copied, 1ull << 61 | map->id.n)) {
		struct mapping own = *map;
		own.proc = d->proc;
		note(d, trace_write_mapping(d->w, &own));
	}
	uint64_t pc = frame_pc(f, index);
	const struct symbols *s = catalog_symbols(c, map->module, pc);
	if (s && first(d, &d->copied, 1ull << 63 | ((uint64_t)map->module.n << 40 ^ pc)))
		note(d, trace_write_symbols(d->w, map->module, pc, s));
}

/* Number of the allocator's frames in the site's stack. *says: the next frame is the `new` of this type. */
static uint32_t allocator_frames(struct dump *d, const struct stack *s, const char *type, bool *says)
{
	const struct catalog *c = d->sites->replay.catalog;
	struct sink_options o = { 0 };
	struct sink_stack cut = { 0 };
	uint32_t i = 0;
	note(d, sink_stack_of(c, &o, s->id, &cut));
	if (cut.frames_cnt) {
		const char *name = cut.frames[0].symbol ? cut.frames[0].symbol->name : NULL;
		*says = name && type_is_function(name, type);
		while (i < s->n && frame_ip(c, &s->frames[i]) != cut.frames[0].ip)
			i++;
	}
	sink_stack_free(&cut);
	return i;
}

static void write_stack(struct dump *d, struct stack *out, const struct stack *site, uint64_t pc, const char *type)
{
	struct frame *frames = calloc(2 + (site ? site->n : 0), sizeof(*frames));
	bool says = false;
	uint32_t skip = site && type ? allocator_frames(d, site, type, &says) : 0, n = 0;
	if (!frames) {
		note(d, -ENOMEM);
		return;
	}
	if (!site || (type && !says)) {
		frames[n++] = (struct frame){ d->map, ALLOCATOR_PC };
		frames[n++] = (struct frame){ d->map, pc + 1 };
	} else {
		skip = 0;
	}
	for (uint32_t i = skip; site && i < site->n; i++) {
		copy_frame(d, &site->frames[i], i);
		frames[n++] = site->frames[i];
	}
	out->n = n;
	out->frames = frames;
	out->end = site ? site->end : STACK_END_COMPLETE;
	note(d, trace_write_stack(d->w, out));
	free(frames);
}

/* The id of an object's stack, which is written at first use. */
static uint32_t stack_of(struct dump *d, const struct graph_object *o, const struct block *block)
{
	const struct stack *site = block ? catalog_stack(d->sites->replay.catalog, block->stack) : NULL;
	const struct known_type t = type_of_object(d, o);
	uint64_t pc = type_frame(d, &t);
	uint64_t *known = map_put(&d->known, (uint64_t)(site ? block->stack.n : 0) << 32 | pc);
	if (!known) {
		note(d, -ENOMEM);
		return 0;
	}
	if (*known)
		return (uint32_t)*known;
	*known = ++d->stacks;
	struct buf class = { 0 }, type = { 0 };
	class_text(d, t.number, &class);
	type_name(buf_str(&class), t.owned, &type);
	/* For raw memory, its allocation site says more than its holder. */
	bool tells = o->type || !site;
	struct stack s = { .id = { d->stacks }, .proc = d->proc, .type = tells ? buf_str(&type) : NULL };
	write_stack(d, &s, site, pc, o->type ? buf_str(&class) : NULL);
	buf_free(&class);
	buf_free(&type);
	return d->stacks;
}

static void write_objects(struct dump *d)
{
	struct graph *g = &d->o->graph;
	for (size_t i = 0; i < g->objects_cnt && !d->rc; i++) {
		struct graph_object *o = &g->objects[i];
		const struct block *block = d->sites ? blocks_at(d->sites, o->addr) : NULL;
		if (block && block->size <= o->size && !o->asked)
			o->asked = block->size;
		o->site = stack_of(d, o, block);
		struct event e = {
			.kind = EVENT_ALLOC,
			.flags = o->kind ? 0 : EVENT_F_ATOMIC,
			.proc = d->proc,
			.tid = d->o->tgid,
			.stack = { o->site },
			.time_ns = d->o->read_ns,
			.addr = o->addr,
			.size = o->asked ?: o->size,
		};
		note(d, trace_write_event(d->w, &e));
	}
}

static void write_meta(struct dump *d, const char *key, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void write_meta(struct dump *d, const char *key, const char *fmt, ...)
{
	char text[4400];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	note(d, trace_write_meta(d->w, key, text));
}

static void write_head(struct dump *d, const char *words)
{
	const struct objects *o = d->o;
	struct buf said = { 0 };
	objects_describe(o, &said);
	write_meta(d, "version", "%s", ALYS_VERSION);
	write_meta(d, "start_mono_ns", "%" PRIu64, o->read_ns);
	write_meta(d, "start_real_ns", "%" PRIu64, clock_ns(CLOCK_REALTIME));
	write_meta(d, "pids", "%u", o->tgid);
	write_meta(d, "command", "%s", words);
	write_meta(d, "dump", "%s", buf_str(&said));
	note(d, trace_write_proc(
			d->w, &(struct proc){
				      .id = d->proc, .tgid = o->tgid, .start_ns = o->start_ns, .comm = o->comm, .exe = o->exe }));
	note(d, trace_write_module(d->w, &(struct module){ .id = d->module, .path = "[types]" }));
	note(d,
	     trace_write_mapping(
		     d->w, &(struct mapping){
				   .id = d->map, .proc = d->proc, .module = d->module, .start = 0, .end = 1u << 31, .bias = 0 }));
	write_name(d, ALLOCATOR_PC, o->live == GRAPH_IN_USE ? "malloc" : "GC_malloc", SYMBOL_OWNER_ALLOCATOR);
	const struct count counts[] = {
		{ "heap-objects", "live objects found in the heap", COUNT_HIT, o->graph.objects_cnt },
		{ "heap-written", "of them written into the dump", COUNT_RECORDED, o->graph.objects_cnt },
	};
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		note(d, trace_write_count(d->w, &counts[i]));
	buf_free(&said);
}

static int put_part(void *ctx, const struct buf *part)
{
	return trace_write_part(ctx, part);
}

/* Ids that are free in the sites' catalog. */
static void choose_ids(struct dump *d)
{
	const struct catalog *c = d->sites ? d->sites->replay.catalog : NULL;
	const struct module *m;
	const struct mapping *g;
	d->proc.n = 1;
	d->module.n = d->map.n = 1;
	for (size_t i = 0; c && (m = catalog_next_module(c, &i));)
		d->module.n = m->id.n >= d->module.n ? m->id.n + 1 : d->module.n;
	for (size_t i = 0; c && (g = catalog_next_mapping(c, &i));)
		d->map.n = g->id.n >= d->map.n ? g->id.n + 1 : d->map.n;
}

int dumpfile_write(struct objects *o, const struct blocks *sites, const char *words, int fd, struct err *err)
{
	struct trace_clock clock = trace_clock_now();
	clock.mono_ns = o->read_ns;
	struct dump d = { .o = o, .sites = sites };
	d.w = trace_writer_new(fd, &clock, err);
	if (!d.w)
		return -err->code;
	choose_ids(&d);
	write_head(&d, words);
	write_objects(&d);
	struct picture p = {
		.graph = &o->graph, .types = &o->types, .fields = &o->fields, .root_name = objects_root_name, .ctx = o
	};
	struct parts_facts facts = {
		.tgid = o->tgid,
		.start_ns = o->start_ns,
		.read_ns = o->read_ns,
		.gc_no = o->gc_no,
		.frozen_ns = o->frozen_ns,
		.unreadable = o->unreadable,
		.live = o->live,
		.unknown_stacks = o->unknown_stacks,
		.torn = o->torn,
		.comm = o->comm,
		.exe = o->exe,
	};
	if (!d.rc)
		note(&d, parts_encode(&p, &facts, put_part, d.w));
	map_free(&d.frames);
	map_free(&d.known);
	map_free(&d.copied);
	int rc = trace_writer_close(d.w, err);
	return rc || !d.rc ? rc : err_set(err, -d.rc, "cannot write the dump: %s", strerror(-d.rc));
}

static int take_part(void *ctx, const void *bytes, size_t n)
{
	return parts_take(ctx, bytes, n);
}

static void fill(struct objects *o, const struct parts_reader *r)
{
	const struct parts_facts *f = &r->facts;
	o->tgid = f->tgid;
	o->start_ns = f->start_ns;
	o->read_ns = f->read_ns;
	o->gc_no = f->gc_no;
	o->frozen_ns = f->frozen_ns;
	o->unreadable = f->unreadable;
	o->live = f->live;
	o->unknown_stacks = f->unknown_stacks;
	o->torn = f->torn;
	snprintf(o->comm, sizeof(o->comm), "%s", f->comm);
	snprintf(o->exe, sizeof(o->exe), "%s", f->exe);
}

static int not_a_dump(const char *path, const struct parts_reader *r, int rc, struct err *err)
{
	if (rc == -EBADMSG && !r->facts.comm)
		return err_set(err, EINVAL, "%s is no dump of a heap: make one with `alys-bpf dump -p PID -o FILE`", path);
	if (rc == -EBADMSG)
		return err_set(err, EBADMSG, "%s is damaged: parts of the heap are missing or do not fit together", path);
	if (rc == -EFBIG)
		return err_set(err, EFBIG, "%s does not fit into half of the free memory", path);
	return err->code ? rc : err_set(err, -rc, "cannot read %s: %s", path, strerror(-rc));
}

int dumpfile_read(struct objects *o, const char *path, struct err *err)
{
	struct replay replay;
	*o = (struct objects){ .program_fd = -1, .with_fields_fd = -1 };
	int rc = replay_open(&replay, path, err);
	if (rc)
		return rc;
	struct parts_reader *r = calloc(1, sizeof(*r));
	rc = r ? types_begin(&o->types) : -ENOMEM;
	o->parts = r;
	if (r)
		*r = (struct parts_reader){
			.graph = &o->graph, .types = &o->types, .fields = &o->fields, .max_bytes = worker_memory()
		};
	if (!rc)
		rc = trace_each_part(replay.trace, take_part, r, err);
	if (!rc)
		rc = parts_end(r);
	if (!rc)
		fill(o, r);
	else
		rc = r ? not_a_dump(path, r, rc, err) : err_set(err, ENOMEM, "out of memory");
	replay_close(&replay);
	if (rc)
		objects_free(o);
	return rc;
}
