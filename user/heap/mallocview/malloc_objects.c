/* SPDX-License-Identifier: Apache-2.0 */
/* mallocview/malloc_objects: see malloc_objects.h. */
#include "mallocview/malloc_objects.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "glibc/classes.h"
#include "mallocview/malloc_graph.h"

static int take_block(void *ctx, uint64_t addr, uint64_t bytes, size_t class)
{
	struct malloc_copy *c = ctx;
	size_t i = malloc_copy_find(c, addr);
	(void)bytes;
	if (i != c->blocks_cnt && c->blocks[i].addr == addr)
		c->blocks[i].class = class;
	return 0;
}

static int take_names(const struct glibc_classes *c, struct types *out)
{
	int rc = 0;
	for (size_t i = 0; i < c->all_cnt && !rc; i++) {
		struct buf name = { 0 };
		glibc_class_text(&c->all[i], &name);
		rc = name.failed ? -ENOMEM
				 : types_put(out, (uint32_t)i + MALLOC_TYPE_BASE, buf_str(&name), name.len, TYPE_FROM_SYMBOLS);
		buf_free(&name);
	}
	return rc;
}

static int name_blocks(struct objects *o, struct malloc_reading *r, struct malloc_copy *copy)
{
	struct glibc_classes classes;
	int rc = glibc_classes_each(&r->process.memory, &r->process.space, &r->heap, take_block, copy, &classes);
	if (rc)
		return rc;
	rc = take_names(&classes, &o->types);
	glibc_classes_free(&classes);
	return rc;
}

/* For names of variables; there may be none. */
static void take_program(struct objects *o, struct malloc_reading *r)
{
	struct glibc_process *p = &r->process;
	const struct space_region *program = NULL;
	for (size_t i = 0; i < p->space.regions_cnt && !program; i++)
		program = strcmp(p->space.regions[i].path, p->place.exe) ? NULL : &p->space.regions[i];
	o->program = program ? place_file(p->memory.tgid, program, &o->program_fd) : NULL;
	if (!o->program)
		o->program_fd = -1;
	o->space = p->space;
	p->space = (struct space){ 0 };
	objects_read_globals(o);
}

static void note_facts(struct objects *o, const struct malloc_reading *r, const struct malloc_copy *copy)
{
	o->tgid = r->process.memory.tgid;
	o->start_ns = r->process.place.start_ns;
	snprintf(o->comm, sizeof(o->comm), "%s", r->process.place.comm);
	snprintf(o->exe, sizeof(o->exe), "%s", r->process.place.exe);
	o->frozen_ns = r->frozen_ns;
	o->torn = r->heap.odd;
	o->unreadable = copy->unreadable + copy->roots.unreadable;
	o->unknown_stacks = copy->roots.unknown_stacks;
	o->unsearched = copy->roots.unsearched;
	o->live = GRAPH_IN_USE;
}

static int read_malloc(struct objects *o, const struct heap_ask *ask, struct err *err)
{
	const struct malloc_how how = { ask->pid, MALLOC_READINGS, ask->freeze };
	struct malloc_reading r;
	struct malloc_copy copy = { 0 };
	*o = (struct objects){ .program_fd = -1, .with_fields_fd = -1, .read_ns = now_ns() };
	int rc = malloc_reading_take(&r, &how, malloc_copy_look, &copy, err);
	if (rc) {
		malloc_copy_free(&copy);
		return rc;
	}
	rc = name_blocks(o, &r, &copy);
	rc = rc ?: malloc_graph_scan(&o->graph, &copy);
	if (rc)
		err_set(err, -rc, "cannot build the graph of process %u: %s", ask->pid, strerror(-rc));
	note_facts(o, &r, &copy);
	take_program(o, &r);
	malloc_copy_free(&copy);
	malloc_reading_free(&r);
	if (rc)
		objects_free(o);
	return rc;
}

int malloc_objects_read(struct objects *o, const struct heap_ask *ask, struct err *err)
{
	bool of_collector = ask->live || ask->type_ids || ask->fields || ask->learn;
	struct err none = { 0 };
	int rc = ask->malloc ? -ENOENT : objects_read(o, ask, of_collector ? err : &none);
	if (rc != -ENOENT || of_collector) {
		*err = of_collector ? *err : none;
		return rc;
	}
	rc = read_malloc(o, ask, err);
	if ((rc != -ENOENT && rc != -ENODATA) || ask->malloc)
		return rc;
	struct err neither = *err;
	return err_set(err, ENOENT, "%.250s; and %.250s", none.text, neither.text);
}
