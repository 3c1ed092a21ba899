/* SPDX-License-Identifier: Apache-2.0 */
/* monitor/compact: see compact.h. */
#include "monitor/compact.h"

#include <errno.h>

#include "naming/subset.h"

static bool is_current(const struct live *l, struct proc_id id)
{
	const struct proc *p = catalog_proc(l->h.catalog, id);
	return p && target_is_current(l->h.targets, p);
}

/* In any heap of its process. */
static bool is_known(const struct compact *c, const struct stack *k)
{
	bool known = false;
	for (enum subject s = 0; s < SUBJECT_CNT && !known; s++)
		known = heaps_know(c->heaps, target_heap(c->live->h.targets, k->proc, s), k->id);
	return known;
}

bool compact_keeps(const struct compact *c, const struct stack *s)
{
	return is_current(c->live, s->proc) && (live_is_recalled(c->live, s->id) || is_known(c, s));
}

static void copy_living(const struct compact *c, struct subset *s)
{
	const struct live *l = c->live;
	const struct proc *p;
	const struct mapping *m;
	const struct stack *k;
	const struct erlang_process *named;
	subset_meta(s);
	subset_counts(s);
	for (size_t i = 0; (p = catalog_next_proc(l->h.catalog, &i));) {
		if (is_current(l, p->id))
			subset_proc(s, p->id);
	}
	for (size_t i = 0; (m = catalog_next_mapping(l->h.catalog, &i));) {
		if (is_current(l, m->proc))
			subset_mapping(s, m);
	}
	for (size_t i = 0; (k = catalog_next_stack(l->h.catalog, &i));) {
		if (compact_keeps(c, k))
			subset_stack(s, k);
	}
	for (size_t i = 0; (named = catalog_next_erlang_process(l->h.catalog, &i));) {
		if (is_current(l, named->proc))
			s->failed |= catalog_put_erlang_process(s->to, named) != 0;
	}
}

int compact_catalog(const struct compact *c)
{
	struct subset s = { .from = c->live->h.catalog, .to = catalog_new() };
	if (!s.to)
		return -ENOMEM;
	copy_living(c, &s);
	if (!s.failed && !live_replace_catalog(c->live, s.to))
		return 0;
	catalog_free(s.to);
	return -ENOMEM;
}
