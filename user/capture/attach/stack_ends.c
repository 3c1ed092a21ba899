/* SPDX-License-Identifier: Apache-2.0 */
/* attach/stack_ends: see stack_ends.h. */
#include "attach/stack_ends.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>

#include "target/target.h"
#include "unwind/unwind.h"

/* Rows of the few files in which stacks end: requested once per file, and waited for. NULL: none. */
static const struct unwind_table *rows_of(struct stack_ends *b, struct module_id module)
{
	const struct module *m = catalog_module(b->h->catalog, module);
	int fd = target_module_fd(b->h->targets, module);
	if (!map_get(&b->rows, module.n) && map_put(&b->rows, module.n) && m && fd >= 0)
		study_now(b->study, m, fd, FINDINGS_ROWS);
	const uint64_t *known = map_get(&b->rows, module.n);
	return known ? (const struct unwind_table *)(uintptr_t)*known : NULL;
}

void stack_ends_found(struct stack_ends *b, struct findings *f)
{
	uint64_t *place = map_get(&b->rows, f->module.n);
	if (!place || *place)
		return;
	*place = (uintptr_t)f->rows.table;
	f->rows.table = NULL;
}

/* Is the function that this frame returns to the outermost one? */
static bool is_bottom(struct stack_ends *b, const struct frame *f)
{
	struct unwind_row row;
	const struct mapping *m = f->map.n ? catalog_mapping(b->h->catalog, f->map) : NULL;
	const struct unwind_table *rows = m ? rows_of(b, m->module) : NULL;
	return rows && unwind_row_at(rows, f->rel - 1, &row) && row.kind == ALYS_ROW_END;
}

/* kernel.perf_event_max_stack: bpf_get_stack never gives more. */
static uint32_t kernel_depth(struct stack_ends *b)
{
	FILE *f = b->kernel_depth ? NULL : fopen("/proc/sys/kernel/perf_event_max_stack", "re");
	if (!b->kernel_depth && (!f || fscanf(f, "%" SCNu32, &b->kernel_depth) != 1))
		b->kernel_depth = PERF_MAX_STACK_DEPTH;
	if (f)
		fclose(f);
	return b->kernel_depth;
}

uint8_t stack_ends_of(struct stack_ends *b, const struct intake_stack *s, const struct frame *frames)
{
	if (b->h->o->walk != ALYS_WALK_KERNEL || s->end != STACK_END_UNKNOWN || !s->n)
		return (uint8_t)s->end;
	if (is_bottom(b, &frames[s->n - 1]))
		return STACK_END_COMPLETE;
	/* More than, because at least the probed function is not from bpf_get_stack. */
	return s->n > kernel_depth(b) ? STACK_END_TRUNCATED : STACK_END_NO_FRAME_POINTER;
}

void stack_ends_free(struct stack_ends *b)
{
	const struct map_slot *s;
	for (size_t i = 0; (s = map_next(&b->rows, &i));)
		unwind_free((struct unwind_table *)(uintptr_t)s->value);
	map_free(&b->rows);
}
