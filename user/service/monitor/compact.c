/* monitor/compact: see compact.h. */
#include "monitor/compact.h"

#include <errno.h>

#include "naming/subset.h"

static bool is_current(const struct live *l, struct proc_id id)
{
	const struct proc *p = catalog_proc(l->h.catalog, id);
	return p && target_find(l->h.targets, p->tgid).n == id.n;
}

bool compact_keeps(const struct compact *c, const struct stack *s)
{
	return is_current(c->live, s->proc) &&
	       (s->id.n > c->young || map_get(&c->live->recalled, s->id.n) ||
		heaps_know(c->heaps, s->proc, s->id));
}

static void copy_living(const struct compact *c, struct subset *s)
{
	const struct live *l = c->live;
	const struct proc *p;
	const struct mapping *m;
	const struct stack *k;
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
}

/* The hashes of stacks that were kept. */
static bool copy_hashes(const struct live *l, const struct catalog *kept, struct map *out)
{
	const struct map_slot *s;
	for (size_t i = 0; (s = map_next(&l->stacks, &i));) {
		if (!catalog_stack(kept, (struct stack_id){ (uint32_t)s->value }))
			continue;
		uint64_t *id = map_put(out, s->key);
		if (!id)
			return false;
		*id = s->value;
	}
	return true;
}

void compact_prepare(struct live *l)
{
	l->forgets = true;
	map_free(&l->recalled);
	probe_forget_stacks(l->h.probe);
}

int compact_catalog(const struct compact *c)
{
	struct live *l = c->live;
	struct subset s = { .from = l->h.catalog, .to = catalog_new() };
	struct map stacks = { 0 };
	if (!s.to)
		return -ENOMEM;
	copy_living(c, &s);
	if (s.failed || !copy_hashes(l, s.to, &stacks) || target_move(l->h.targets, s.to)) {
		catalog_free(s.to);
		map_free(&stacks);
		return -ENOMEM;
	}
	map_free(&l->stacks);
	l->stacks = stacks;
	attach_prune(l->attach, s.to);
	catalog_free(l->h.catalog);
	l->h.catalog = s.to;
	compact_prepare(l);
	return 0;
}
