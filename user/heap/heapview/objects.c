/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapview/objects: see objects.h. Finds a process' heap, copies it (with the process frozen, if asked) and builds the
 * graph.
 */
#include "heapview/objects.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access/infile.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/sorted.h"
#include "base/text.h"
#include "base/vec.h"
#include "collector/place.h"
#include "collector/variables.h"
#include "dwarf/demangle.h"
#include "heapreader/heap_worker.h"
#include "heapview/threads.h"
#include "heapview/typed_sites.h"
#include "heapview/typing.h"

struct copy {
	struct collector *collector;
	bool nameless; /* the collector's variables have no symbols */
	struct boehm_heap heap;
	struct words words;
	struct roots roots;
	struct threads threads;
};

int objects_unread(uint32_t tgid, int rc, struct err *err)
{
	if (rc == -EFBIG)
		return err_set(err, EFBIG,
			       "the heap of process %u does not fit into half of the free memory: use `alys-bpf census`, which "
			       "copies nothing",
			       tgid);
	if (rc == -ETIMEDOUT)
		return err_set(err, ETIMEDOUT,
			       "process %u was stopped for %.1f s and its heap is not copied yet: resumed; try without --freeze",
			       tgid, FREEZE_MAX_NS / 1e9);
	if (rc == -ESRCH)
		return err_set(err, ESRCH, "process %u has ended while its heap was read", tgid);
	return err_set(err, -rc, "cannot read the heap of process %u: %s", tgid, strerror(-rc));
}

/* Waiting for a collection to end is only needed for the marks of a running process. */
static int read_blocks(struct collector *g, bool wait, struct boehm_heap *out, struct err *err)
{
	if (wait)
		return collector_read(g, out, err);
	int rc = boehm_heap_read_now(&g->memory, &g->layout, out, err);
	if (rc)
		err_wrap(err, "process %u", g->memory.tgid);
	return rc;
}

/* Copies all that is needed of the process. The process may be frozen, so nothing but reading is done here. */
static int copy_now(struct copy *c, uint32_t live, struct err *err)
{
	struct collector *g = c->collector;
	int rc = collector_refresh(g, err);
	if (!rc)
		rc = read_blocks(g, live == GRAPH_MARKED && !c->threads.frozen, &c->heap, err);
	if (rc)
		return rc;
	struct own_places own;
	variables_of(g, &own);
	c->nameless = own.nameless;
	threads_flag_markers(&c->threads, &g->memory, &g->space, &own);
	struct root_plan plan = {
		.space = &g->space,
		.threads = c->threads.list,
		.threads_cnt = c->threads.list_cnt,
		.excludes = own.variables,
		.excludes_cnt = own.variables_cnt,
		.max = worker_memory() / 2,
	};
	uint64_t deadline = threads_deadline(&c->threads);
	rc = words_begin(&c->words, &c->heap, plan.max);
	if (!rc)
		rc = roots_begin(&c->roots, &plan);
	if (!rc)
		rc = words_copy(&c->words, &g->memory, &c->heap, deadline);
	if (!rc)
		rc = roots_copy(&c->roots, &g->memory, &plan, &c->words, &c->heap, deadline);
	return rc ? objects_unread(g->memory.tgid, rc, err) : 0;
}

/* Checked before the process is frozen: if copying would take too long, it is not frozen at all. */
static int check_time(struct collector *g, struct err *err)
{
	struct boehm_heap h;
	int rc = read_blocks(g, false, &h, err);
	if (rc)
		return rc;
	uint64_t ns = h.took_ns;
	for (size_t i = 0; i < h.blocks_cnt; i++)
		ns += words_traced(h.blocks[i].kind) ? h.blocks[i].bytes : h.blocks[i].bytes / 4; /* at 1 GB per second */
	boehm_heap_free(&h);
	if (ns > FREEZE_MAX_NS / 4 * 3)
		return err_set(err, EFBIG,
			       "process %u would be stopped for about %.1f s, longer than --freeze allows: try without it",
			       g->memory.tgid, (double)ns / 1e9);
	return 0;
}

static int copy_process(struct copy *c, struct objects *o, const struct heap_ask *ask, struct err *err)
{
	uint32_t tgid = c->collector->memory.tgid;
	int rc = ask->freeze ? check_time(c->collector, err) : 0;
	if (!rc)
		rc = ask->freeze ? threads_freeze(&c->threads, tgid, err) : threads_look(&c->threads, tgid, err);
	o->read_ns = now_ns();
	if (!rc)
		rc = copy_now(c, ask->live, err);
	o->frozen_ns = threads_thaw(&c->threads);
	return rc;
}

static void copy_free(struct copy *c)
{
	threads_free(&c->threads);
	roots_free(&c->roots);
	words_free(&c->words);
	boehm_heap_free(&c->heap);
}

static struct elf *open_elf(const char *path, const char *name, int *fd, struct err *err)
{
	*fd = infile_open(path, err);
	return *fd < 0 ? NULL : elf_open(*fd, name, err);
}

/* Field names are optional: that they are missing is an error only if a file was given for them. */
static int read_fields(struct objects *o, const struct heap_ask *ask, struct err *err)
{
	if (ask->fields) {
		o->with_fields = open_elf(ask->fields, ask->fields, &o->with_fields_fd, err);
		if (!o->with_fields)
			return -err->code;
	}
	int rc = o->with_fields || o->program ? fields_read(&o->fields, o->with_fields ?: o->program) : -ENODATA;
	if (rc == -ENODATA && ask->fields)
		return err_set(err, ENODATA, "%s describes no structures: build it with `crystal build --debug`", ask->fields);
	return rc == -ENODATA ? 0 : rc ? err_set(err, -rc, "out of memory") : 0;
}

struct taking {
	struct objects *o;
	uint64_t bias;
	bool failed;
};

static int take_global(void *ctx, const struct elf_symbol *s)
{
	struct taking *t = ctx;
	if (!s->defined || s->type != 1 /* STT_OBJECT */ || !s->size)
		return 0;
	struct global *g = VEC_PUSH(t->o, globals);
	t->failed |= !g;
	if (g)
		*g = (struct global){ t->bias + s->vaddr, t->bias + s->vaddr + s->size, s->name };
	return t->failed;
}

static int by_start(const void *a, const void *b)
{
	const struct global *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* Variables of the program itself; for variables of libraries only the file is named. */
void objects_read_globals(struct objects *o)
{
	struct taking t = { .o = o };
	const struct space_region *r = NULL;
	for (size_t i = 0; !r && i < o->space.regions_cnt; i++)
		r = strcmp(o->space.regions[i].path, o->exe) ? NULL : &o->space.regions[i];
	if (r && o->program && place_bias(o->program, &o->space, r->dev, r->ino, &t.bias))
		elf_each_symbol(o->program, take_global, &t);
	if (o->globals_cnt)
		qsort(o->globals, o->globals_cnt, sizeof(*o->globals), by_start);
}

static int open_process(struct objects *o, struct collector *c, const struct heap_ask *ask, struct err *err)
{
	uint64_t bias;
	int rc = collector_open(c, ask->pid, err);
	if (rc)
		return rc;
	o->tgid = ask->pid;
	o->start_ns = c->start_ns;
	snprintf(o->comm, sizeof(o->comm), "%s", c->comm);
	snprintf(o->exe, sizeof(o->exe), "%s", c->exe);
	o->program = collector_program(c, &o->program_fd, &bias);
	rc = read_fields(o, ask, err);
	return rc ? rc : collector_types(c, ask->type_ids, &o->types, err);
}

static void note_facts(struct objects *o, struct copy *c)
{
	o->gc_no = c->heap.gc_no;
	o->torn = c->heap.torn;
	o->unreadable = c->words.unreadable + c->roots.unreadable;
	o->unknown_stacks = c->roots.unknown_stacks;
	o->nameless = c->nameless;
	/* Moved out of the collector: roots are named by it later. */
	o->space = c->collector->space;
	c->collector->space = (struct space){ 0 };
	objects_read_globals(o);
}

int objects_keep_files(const struct heap_ask *ask, struct err *err)
{
	if (infile_keep(ask->type_ids, true, err))
		return -EIO;
	return infile_keep(ask->fields, false, err) ?: infile_keep(ask->learn, false, err);
}

int objects_read(struct objects *o, const struct heap_ask *ask, struct err *err)
{
	struct collector collector = { 0 };
	struct typing typing = { 0 };
	struct copy c = { .collector = &collector };
	*o = (struct objects){ .program_fd = -1, .with_fields_fd = -1, .live = ask->live };
	int rc = open_process(o, &collector, ask, err);
	if (rc) {
		objects_free(o);
		return rc;
	}
	rc = copy_process(&c, o, ask, err);
	if (!rc && ask->learn)
		rc = learn_types(&o->types, ask->learn, o->tgid, &c.heap, &c.words, err);
	if (!rc)
		rc = typing_begin(&typing, &o->types, &o->fields) ? err_set(err, ENOMEM, "out of memory") : 0;
	/* A stripped program cannot be recognized as Crystal, but type names from elsewhere show that it is. */
	typing.none = !ask->type_ids && !ask->learn && o->types.names_cnt < 2 && !collector_is_crystal(&collector);
	if (!rc) {
		struct graph_typing how = { typing_of, typing_settle, &typing };
		rc = graph_scan(&o->graph, &c.heap, &c.words, &c.roots, ask->live, &how);
		if (rc)
			err_set(err, -rc, "cannot build the graph of process %u: %s", ask->pid, strerror(-rc));
	}
	if (!rc)
		note_facts(o, &c);
	typing_end(&typing);
	copy_free(&c);
	collector_close(&collector);
	if (rc)
		objects_free(o);
	return rc;
}

void objects_free(struct objects *o)
{
	graph_free(&o->graph);
	types_free(&o->types);
	fields_free(&o->fields);
	elf_close(o->program);
	elf_close(o->with_fields);
	if (o->program_fd >= 0)
		close(o->program_fd);
	if (o->with_fields_fd >= 0)
		close(o->with_fields_fd);
	space_free(&o->space);
	free(o->globals);
	if (o->parts)
		parts_reader_free(o->parts);
	free(o->parts);
	*o = (struct objects){ .program_fd = -1, .with_fields_fd = -1 };
}

static const struct global *global_at(const struct objects *o, uint64_t addr)
{
	size_t lo = SORTED_UNTIL(o->globals_cnt, i, o->globals[i].start <= addr);
	return lo && addr < o->globals[lo - 1].end ? &o->globals[lo - 1] : NULL;
}

/* Names of hostile programs may be anything. */
static void put_variable(const struct global *g, struct buf *out)
{
	struct buf name = { 0 };
	demangle(&name, g->name);
	text_clean(out, buf_str(&name), name.len);
	buf_free(&name);
}

static void name_global(const struct objects *o, const struct graph_root *root, struct buf *out)
{
	const struct global *g = global_at(o, root->addr);
	const struct space_region *r = space_find(&o->space, root->addr);
	/* .bss continues a file's mapping in an anonymous one. */
	while (r && !*r->path && r > o->space.regions && r[-1].end == r->start)
		r--;
	buf_adds(out, "global ");
	if (g)
		put_variable(g, out);
	else if (r && *r->path)
		text_clean(out, r->path, strlen(r->path));
	if (g ? root->addr != g->start : r && *r->path)
		buf_addf(out, "+0x%" PRIx64, root->addr - (g ? g->start : r->start));
	else if (!g)
		buf_addf(out, "0x%" PRIx64, root->addr);
}

void objects_root_name(void *ctx, const struct graph_root *root, struct buf *out)
{
	const struct objects *o = ctx;
	if (o->parts) {
		const char *name = o->parts->root_names[root - o->graph.roots];
		text_clean(out, name, strlen(name));
	} else if (root->kind == ROOT_GLOBAL) {
		name_global(o, root, out);
	} else if (root->kind == ROOT_REGISTERS) {
		buf_addf(out, "register of thread %u", root->tid);
	} else if (root->kind == ROOT_STACK && root->tid) {
		buf_addf(out, "stack of thread %u at 0x%" PRIx64, root->tid, root->addr);
	} else {
		buf_addf(out, "%s at 0x%" PRIx64, root_kind_name(root->kind), root->addr);
	}
}

void objects_describe(const struct objects *o, struct buf *out)
{
	static const char *const counted[] = { [GRAPH_REACHED] = " live objects, ",
					       [GRAPH_MARKED] = " objects marked by the last collection, ",
					       [GRAPH_IN_USE] = " blocks in use, " };
	uint64_t bytes = 0;
	for (size_t i = 0; i < o->graph.objects_cnt; i++)
		bytes += o->graph.objects[i].size;
	buf_addf(out, "process %u (", o->tgid);
	text_clean(out, o->comm, sizeof(o->comm));
	buf_adds(out, "): ");
	text_count(out, o->graph.objects_cnt);
	buf_adds(out, counted[o->live]);
	text_bytes(out, (double)bytes);
	if (o->frozen_ns)
		buf_addf(out, "; frozen for %.1f ms", (double)o->frozen_ns / 1e6);
	else
		buf_adds(out, "; approximate, for it ran meanwhile (--freeze stops it)");
	if (o->unknown_stacks)
		buf_addf(out, "; %u of its threads ran just then: of their stacks all was taken", o->unknown_stacks);
	if (o->live == GRAPH_IN_USE)
		buf_adds(out, "; conservative: any word that could be an address of a block counts as one");
	if (o->unsearched) {
		buf_adds(out, "; ");
		text_bytes(out, (double)o->unsearched);
		buf_adds(out, " of anonymous memory beside the heap were not searched");
	}
	if (o->nameless && o->live != GRAPH_MARKED)
		buf_adds(out,
			 "; its collector's variables have no names: a few free objects that only they hold may be among these");
	if (o->torn && o->live == GRAPH_MARKED)
		buf_adds(out, "; a collection went on, so the marks are of two");
	if (o->torn && o->live == GRAPH_IN_USE)
		buf_adds(out, "; not all of it fits together: it changed, or is damaged");
	if (o->unreadable)
		buf_addf(out, "; %" PRIu64 " parts could not be read", o->unreadable);
}

static int no_type(const struct objects *o, const char *name, struct err *err)
{
	struct buf near = { 0 }, asked = { 0 };
	types_nearest(&o->types, name, &near);
	text_clean(&asked, name, 200);
	if (near.len)
		err_set(err, ENOENT, "no type %s in process %u; nearest: %s", buf_str(&asked), o->tgid, buf_str(&near));
	else if (o->live == GRAPH_IN_USE)
		err_set(err, ENOENT,
			"no type %s in process %u: classes and sizes are named as `alys-bpf census -p PID` does: Shape, "
			"\"(24 bytes)\"",
			buf_str(&asked), o->tgid);
	else
		err_set(err, ENOENT,
			"no type %s in process %u: names come from --type-ids FILE (made by CRYSTAL_DUMP_TYPE_ID=1 crystal build "
			"...) or --learn TRACE",
			buf_str(&asked), o->tgid);
	buf_free(&near);
	buf_free(&asked);
	return -ENOENT;
}

int objects_type(const struct objects *o, const char *name, uint32_t **ids, size_t *cnt, struct err *err)
{
	char *end;
	*cnt = types_find(&o->types, name, NULL, 0);
	*ids = malloc((*cnt + 1) * sizeof(**ids));
	if (!*ids)
		return err_set(err, ENOMEM, "out of memory");
	if (types_find(&o->types, name, *ids, *cnt))
		return 0;
	/* The form in which types without a name are printed. */
	unsigned long id = strncmp(name, "(class ", 7) ? 0 : strtoul(name + 7, &end, 10);
	if (!id || id >= UINT32_MAX || strcmp(end, ")"))
		return no_type(o, name, err);
	(*ids)[(*cnt)++] = (uint32_t)id;
	return 0;
}
