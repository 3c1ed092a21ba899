/* SPDX-License-Identifier: Apache-2.0 */
/* model/lineage: see lineage.h. */
#include "model/lineage.h"

void lineage_free(struct lineage *l)
{
	map_free(&l->freed_log);
	map_free(&l->freed_inherited);
}

void lineage_begin(struct lineage *child, size_t parent_place, struct lineage *parent, uint64_t now)
{
	child->parent = parent_place + 1;
	child->forked_ns = now;
	parent->last_fork_ns = now;
	parent->children++;
}

void lineage_gone(struct lineage *l, uint64_t addr, uint64_t allocated_ns, uint64_t now)
{
	uint64_t *when = l->children && allocated_ns <= l->last_fork_ns ? map_put(&l->freed_log, addr) : NULL;
	if (when)
		*when = now;
}

void lineage_end(struct lineage *l, struct lineage *parent)
{
	map_free(&l->freed_inherited);
	l->parent = 0;
	if (!--parent->children)
		map_free(&parent->freed_log);
}
