/* SPDX-License-Identifier: Apache-2.0 */
/*
 * naming/subset: copies part of a catalog under the same ids: what stacks and processes need to be displayed or
 * symbolized. In: one catalog. Out: rows in another.
 */
#ifndef ALYS_NAMING_SUBSET_H
#define ALYS_NAMING_SUBSET_H

#include <stdbool.h>

#include "catalog/catalog.h"

struct subset {
	const struct catalog *from;
	struct catalog *to;
	bool failed; /* out of memory */
};

/* The process' row, and the file of its program, whose build id is the process'. */
void subset_proc(struct subset *s, struct proc_id id);
void subset_mapping(struct subset *s, const struct mapping *m);
/* The stack with its mappings, their files, its process, and known names. */
void subset_stack(struct subset *s, const struct stack *stack);
/* The recording's metadata. */
void subset_meta(struct subset *s);
void subset_counts(struct subset *s);
/* Copies names that `to` has and `from` lacks into a catalog. */
void subset_give_names(const struct subset *s, struct catalog *back);

#endif
