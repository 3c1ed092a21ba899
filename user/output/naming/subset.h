/* SPDX-License-Identifier: Apache-2.0 */
/*
 * naming/subset: a part of a catalog in another catalog, under the same ids: what stacks and processes
 * need to be shown, or to be named, and nothing else. In: one catalog. Out: rows in another.
 */
#ifndef ALYS_NAMING_SUBSET_H
#define ALYS_NAMING_SUBSET_H

#include <stdbool.h>

#include "catalog/catalog.h"

struct subset {
	const struct catalog *from;
	struct catalog *to;
	bool failed; /* memory ran out */
};

/* The process' row alone. */
void subset_proc(struct subset *s, struct proc_id id);
void subset_mapping(struct subset *s, const struct mapping *m);
/* The stack with its mappings, their files, its process, and what names are known. */
void subset_stack(struct subset *s, const struct stack *stack);
/* What the recording says about itself. */
void subset_meta(struct subset *s);
void subset_counts(struct subset *s);
/* Names that `to` knows and `from` does not, the other way round: from `to` into a catalog. */
void subset_give_names(const struct subset *s, struct catalog *back);

#endif
