/* SPDX-License-Identifier: Apache-2.0 */
/* attach/unwind_rows: see unwind_rows.h. */
#include "attach/unwind_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "probe/probe.h"
#include "target/target.h"
#include "unwind/unwind.h"

/* A process needs a new list of all its mappings when rows are added: many files at once should cost one new list. */
#define LIST_NS 100000000ull

bool rows_are_used(const struct rows *r)
{
	return r->h->o->backtrace != BACKTRACE_NONE && r->h->o->walk != ALYS_WALK_KERNEL;
}

static enum rowless reason_of(int code)
{
	return code == ENODATA   ? ROWLESS_NO_EH_FRAME
	       : code == ENOTSUP ? ROWLESS_DEBUG_FRAME
	       : code == EBADMSG ? ROWLESS_DAMAGED
				 : ROWLESS_OTHER;
}

/* Publishes the rows, or remembers that there are none, so that no file is tried or counted twice. */
static void put(struct rows *r, const struct module *m, struct unwind_table *rows, struct err *err)
{
	if (rows && tables_put(probe_tables(r->h->probe), m->id.n, rows, err)) {
		unwind_free(rows);
		rows = NULL;
	}
	if (!rows) {
		tables_put(probe_tables(r->h->probe), m->id.n, NULL, NULL);
		r->without[reason_of(err->code)]++;
		log_info("%s: its frames are walked by frame pointers: %s", m->path, err->text);
	}
	unwind_free(rows);
}

uint32_t rows_wanted(struct rows *r, const struct module *m)
{
	if (!rows_are_used(r) || tables_has(probe_tables(r->h->probe), m->id.n) || map_get(&r->asked, m->id.n))
		return 0;
	map_put(&r->asked, m->id.n);
	return FINDINGS_ROWS;
}

static void put_found(struct rows *r, const struct module *m, struct findings *f)
{
	struct err err = f->failed.code ? f->failed : f->rows.err;
	if (f->failed.code == EBADMSG)
		err.code = EIO; /* the worker that read it was killed, which says nothing about .eh_frame */
	put(r, m, f->rows.table, &err);
	f->rows.table = NULL;
}

void rows_found(struct rows *r, struct findings *f)
{
	const struct module *m = catalog_module(r->h->catalog, f->module);
	map_del(&r->asked, f->module.n);
	if (m && !tables_has(probe_tables(r->h->probe), m->id.n))
		put_found(r, m, f);
}

/* The vdso: kernel code in every process, mapped from no file; its ELF addresses begin at the start of the mapping. */
static void publish_vdso(struct rows *r, const struct module *m)
{
	struct err err = { 0 };
	if (!tables_has(probe_tables(r->h->probe), m->id.n))
		put(r, m, unwind_compile_vdso(&err), &err);
}

/* The rows of a file that no process mapped for a while may have been dropped. */
static void publish(struct rows *r, const struct module *m)
{
	int fd = target_module_fd(r->h->targets, m->id);
	if (fd >= 0 && rows_wanted(r, m))
		study_file(r->study, m, fd, FINDINGS_ROWS);
	else if (fd < 0 && !strcmp(m->path, "[vdso]"))
		publish_vdso(r, m);
}

void rows_map(struct rows *r, const struct proc *p)
{
	struct {
		struct table_mapping *maps;
		size_t maps_cnt, maps_cap;
	} list = { 0 };
	const struct mapping *m;
	struct err err = { 0 };
	if (!rows_are_used(r))
		return;
	for (size_t i = 0; (m = target_mapping(r->h->targets, p->id, i)); i++) {
		const struct module *file = catalog_module(r->h->catalog, m->module);
		if (file)
			publish(r, file);
		struct table_mapping *out = VEC_PUSH(&list, maps);
		if (out)
			*out = (struct table_mapping){ m->start, m->end, m->bias, m->module.n };
	}
	if (tables_put_mappings(probe_tables(r->h->probe), p->tgid, list.maps, list.maps_cnt, &err))
		log_warn("process %u: its stacks will be incomplete: %s", p->tgid, err.text);
	free(list.maps);
}

static bool maps_one_of(const struct rows *r, const struct proc *p, const struct map *modules)
{
	const struct mapping *m;
	for (size_t i = 0; (m = target_mapping(r->h->targets, p->id, i)); i++) {
		if (map_get(modules, m->module.n))
			return true;
	}
	return false;
}

static void list(struct rows *r, const struct map *modules)
{
	const struct proc *p;
	for (size_t i = 0; (p = catalog_next_proc(r->h->catalog, &i));) {
		if (target_is_process(r->h->targets, p) && maps_one_of(r, p, modules))
			rows_map(r, p);
	}
}

void rows_note(struct rows *r, struct module_id module)
{
	map_put(&r->unlisted, module.n);
}

void rows_list(struct rows *r)
{
	if (r->unlisted.count)
		list(r, &r->unlisted);
	map_free(&r->unlisted);
	r->listed_ns = now_ns();
}

void rows_look(struct rows *r, bool busy, uint64_t now_ns)
{
	if (r->unlisted.count && (!busy || now_ns - r->listed_ns >= LIST_NS))
		rows_list(r);
}

void rows_free(struct rows *r)
{
	map_free(&r->asked);
	map_free(&r->unlisted);
}
