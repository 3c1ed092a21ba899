/* recorder/rows: see rows.h. */
#include "recorder/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/vec.h"
#include "recorder/bottoms.h"
#include "recorder/study.h"
#include "unwind/unwind.h"

static bool is_wanted(const struct live *l)
{
	return l->h.o->backtrace != BACKTRACE_NONE && l->h.o->walk != ALYS_WALK_KERNEL;
}

static enum rowless reason_of(int code)
{
	return code == ENODATA ? ROWLESS_NO_EH_FRAME :
	       code == ENOTSUP ? ROWLESS_DEBUG_FRAME :
	       code == EBADMSG ? ROWLESS_DAMAGED :
				 ROWLESS_OTHER;
}

/* Takes the rows; without any, that is remembered, so that no file is tried or counted twice. */
static void put(struct live *l, const struct module *m, struct unwind_table *rows, struct err *err)
{
	if (rows && tables_put(probe_tables(l->h.probe), m->id.n, rows, err)) {
		unwind_free(rows);
		rows = NULL;
	}
	if (!rows) {
		tables_put(probe_tables(l->h.probe), m->id.n, NULL, NULL);
		l->rowless[reason_of(err->code)]++;
		log_info("%s: stacks go by frame pointers: %s", m->path, err->text);
	}
	unwind_free(rows);
}

uint32_t rows_wanted(struct live *l, const struct module *m)
{
	if (!is_wanted(l) || tables_has(probe_tables(l->h.probe), m->id.n) || map_get(&l->rows_asked, m->id.n))
		return 0;
	map_put(&l->rows_asked, m->id.n);
	return FINDINGS_ROWS;
}

static void put_found(struct live *l, const struct module *m, struct findings *f)
{
	struct err err = f->failed.code ? f->failed : f->rows.err;
	if (f->failed.code == EBADMSG)
		err.code = EIO; /* who read it was ended, which says nothing of .eh_frame */
	put(l, m, f->rows.table, &err);
	f->rows.table = NULL;
}

void rows_found(struct live *l, struct findings *f)
{
	const struct module *m = catalog_module(l->h.catalog, f->module);
	map_del(&l->rows_asked, f->module.n);
	if (!is_wanted(l))
		bottoms_found(l, f);
	else if (m && !tables_has(probe_tables(l->h.probe), m->id.n))
		put_found(l, m, f);
}

/* The kernel's own code in every process: mapped from no file, and at its start its addresses begin. */
static void publish_vdso(struct live *l, const struct module *m)
{
	struct err err = { 0 };
	if (!tables_has(probe_tables(l->h.probe), m->id.n))
		put(l, m, unwind_compile_vdso(&err), &err);
}

/* A file that was without a process for a while may have lost its rows. */
static void publish(struct live *l, const struct module *m)
{
	int fd = target_module_fd(l->h.targets, m->id);
	if (fd >= 0 && rows_wanted(l, m))
		study_file(l, m, fd, FINDINGS_ROWS);
	else if (fd < 0 && !strcmp(m->path, "[vdso]"))
		publish_vdso(l, m);
}

void rows_map(struct live *l, const struct proc *p)
{
	struct {
		struct table_mapping *maps;
		size_t maps_cnt, maps_cap;
	} list = { 0 };
	const struct mapping *m;
	struct err err = { 0 };
	if (!is_wanted(l))
		return;
	for (size_t i = 0; (m = target_mapping(l->h.targets, p->id, i)); i++) {
		const struct module *file = catalog_module(l->h.catalog, m->module);
		if (file)
			publish(l, file);
		struct table_mapping *out = VEC_PUSH(&list, maps);
		if (out)
			*out = (struct table_mapping){ m->start, m->end, m->bias, m->module.n };
	}
	if (tables_put_mappings(probe_tables(l->h.probe), p->tgid, list.maps, list.maps_cnt, &err))
		log_warn("process %u: its stacks will be incomplete: %s", p->tgid, err.text);
	free(list.maps);
}

static bool maps_one_of(const struct live *l, const struct proc *p, const struct map *modules)
{
	const struct mapping *m;
	for (size_t i = 0; (m = target_mapping(l->h.targets, p->id, i)); i++) {
		if (map_get(modules, m->module.n))
			return true;
	}
	return false;
}

void rows_renew(struct live *l, const struct map *modules)
{
	const struct proc *p;
	for (size_t i = 0; (p = catalog_next_proc(l->h.catalog, &i));) {
		if (target_find(l->h.targets, p->tgid).n == p->id.n && maps_one_of(l, p, modules))
			rows_map(l, p);
	}
}
