/* recorder/bottoms: see bottoms.h. */
#include "recorder/bottoms.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>

#include "recorder/study.h"
#include "unwind/unwind.h"

/* Of the few files in which stacks end: each is asked for once, and waited for. NULL: there are none. */
static const struct unwind_table *rows_of(struct live *l, struct module_id module)
{
	const struct module *m = catalog_module(l->h.catalog, module);
	int fd = target_module_fd(l->h.targets, module);
	if (!map_get(&l->bottoms, module.n) && map_put(&l->bottoms, module.n) && m && fd >= 0)
		study_now(l, m, fd, FINDINGS_ROWS);
	const uint64_t *known = map_get(&l->bottoms, module.n);
	return known ? (const struct unwind_table *)(uintptr_t)*known : NULL;
}

void bottoms_found(struct live *l, struct findings *f)
{
	uint64_t *place = map_get(&l->bottoms, f->module.n);
	if (!place || *place)
		return;
	*place = (uintptr_t)f->rows.table;
	f->rows.table = NULL;
}

/* Did nothing call the function that this frame returns to? */
static bool is_bottom(struct live *l, const struct frame *f)
{
	struct unwind_row row;
	const struct mapping *m = f->map.n ? catalog_mapping(l->h.catalog, f->map) : NULL;
	const struct unwind_table *rows = m ? rows_of(l, m->module) : NULL;
	return rows && unwind_row_at(rows, f->rel - 1, &row) && row.kind == ALYS_ROW_END;
}

/* kernel.perf_event_max_stack: bpf_get_stack gives no more, whatever it is asked for. */
static uint32_t kernel_depth(struct live *l)
{
	FILE *f = l->kernel_depth ? NULL : fopen("/proc/sys/kernel/perf_event_max_stack", "re");
	if (!l->kernel_depth && (!f || fscanf(f, "%" SCNu32, &l->kernel_depth) != 1))
		l->kernel_depth = PERF_MAX_STACK_DEPTH;
	if (f)
		fclose(f);
	return l->kernel_depth;
}

uint8_t bottoms_end(struct live *l, const struct intake_stack *s, const struct frame *frames)
{
	if (l->h.o->walk != ALYS_WALK_KERNEL || s->end != STACK_END_UNKNOWN || !s->n)
		return (uint8_t)s->end;
	if (is_bottom(l, &frames[s->n - 1]))
		return STACK_END_COMPLETE;
	/* The probed function, at least, does not come from there. */
	return s->n > kernel_depth(l) ? STACK_END_TRUNCATED : STACK_END_NO_FRAME_POINTER;
}

void bottoms_free(struct live *l)
{
	const struct map_slot *s;
	for (size_t i = 0; (s = map_next(&l->bottoms, &i));)
		unwind_free((struct unwind_table *)(uintptr_t)s->value);
	map_free(&l->bottoms);
}
