/* SPDX-License-Identifier: Apache-2.0 */
/* naming/subset: see subset.h. */
#include "naming/subset.h"

static void copy_module(struct subset *s, struct module_id id)
{
	const struct module *file = catalog_module(s->to, id) ? NULL : catalog_module(s->from, id);
	if (file)
		s->failed |= catalog_put_module(s->to, file) != 0;
}

void subset_proc(struct subset *s, struct proc_id id)
{
	const struct proc *p = catalog_proc(s->to, id) ? NULL : catalog_proc(s->from, id);
	if (!p)
		return;
	copy_module(s, p->program);
	s->failed |= catalog_put_proc(s->to, p) != 0;
}

void subset_mapping(struct subset *s, const struct mapping *m)
{
	if (catalog_mapping(s->to, m->id))
		return;
	copy_module(s, m->module);
	s->failed |= catalog_put_mapping(s->to, m) != 0;
}

static void copy_symbols(struct catalog *to, const struct catalog *from, struct module_id m, uint64_t pc, bool *failed)
{
	const struct symbols *known = catalog_symbols(to, m, pc) ? NULL : catalog_symbols(from, m, pc);
	if (known)
		*failed |= catalog_put_symbols(to, m, pc, known) != 0;
}

void subset_stack(struct subset *s, const struct stack *stack)
{
	if (catalog_stack(s->to, stack->id))
		return;
	subset_proc(s, stack->proc);
	for (uint32_t i = 0; i < stack->n; i++) {
		const struct mapping *m = catalog_mapping(s->from, stack->frames[i].map);
		if (!m)
			continue;
		subset_mapping(s, m);
		copy_symbols(s->to, s->from, m->module, frame_pc(&stack->frames[i], i), &s->failed);
	}
	s->failed |= catalog_put_stack(s->to, stack) != 0;
}

void subset_meta(struct subset *s)
{
	const char *key, *value;
	for (size_t i = 0; catalog_next_meta(s->from, &i, &key, &value);)
		s->failed |= catalog_put_meta(s->to, key, value) != 0;
}

void subset_counts(struct subset *s)
{
	const struct count *n;
	for (size_t i = 0; (n = catalog_next_count(s->from, &i));)
		s->failed |= catalog_put_count(s->to, n) != 0;
}

void subset_give_names(const struct subset *s, struct catalog *back)
{
	const struct stack *stack;
	bool failed = false;
	for (size_t i = 0; (stack = catalog_next_stack(s->to, &i));) {
		for (uint32_t f = 0; f < stack->n; f++) {
			const struct mapping *m = catalog_mapping(s->to, stack->frames[f].map);
			if (m)
				copy_symbols(back, s->to, m->module, frame_pc(&stack->frames[f], f), &failed);
		}
	}
}
