/* session/rows: see rows.h. */
#include "session/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/vec.h"
#include "elf/elf.h"
#include "unwind/unwind.h"

static bool is_wanted(const struct live *l)
{
	return l->o->backtrace != BACKTRACE_NONE && l->o->walk != ALYS_WALK_KERNEL;
}

/* The kernel's own code in every process: mapped from no file, and at its start its addresses begin. */
static int put_vdso(struct live *l, const struct module *m)
{
	struct unwind_table *rows = unwind_compile_vdso(NULL);
	int rc = rows ? tables_put(probe_tables(l->probe), m->id.n, rows, NULL) : -ENODATA;
	unwind_free(rows);
	return rc;
}

static int compile_and_put(struct live *l, const struct module *m, int fd, struct err *err)
{
	struct elf *e = elf_open(fd, m->path, err);
	if (!e)
		return -err->code;
	struct unwind_table *rows = unwind_compile(e, err);
	int rc = rows ? tables_put(probe_tables(l->probe), m->id.n, rows, err) : -err->code;
	unwind_free(rows);
	elf_close(e);
	return rc;
}

void rows_publish(struct live *l, const struct module *m, int fd)
{
	struct err err = { 0 };
	if (!is_wanted(l) || tables_has(probe_tables(l->probe), m->id.n))
		return;
	if (!compile_and_put(l, m, fd, &err))
		return;
	l->files_without_rows++;
	log_info("%s: stacks go by frame pointers: %s", m->path, err.text);
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
	for (size_t i = 0; (m = target_mapping(l->targets, p->id, i)); i++) {
		const struct module *file = catalog_module(l->catalog, m->module);
		if (file && !strcmp(file->path, "[vdso]") && !tables_has(probe_tables(l->probe), file->id.n))
			put_vdso(l, file);
		struct table_mapping *out = VEC_PUSH(&list, maps);
		if (out)
			*out = (struct table_mapping){ m->start, m->end, m->bias, m->module.n };
	}
	if (tables_put_mappings(probe_tables(l->probe), p->tgid, list.maps, list.maps_cnt, &err))
		log_warn("process %u: its stacks will be incomplete: %s", p->tgid, err.text);
	free(list.maps);
}
