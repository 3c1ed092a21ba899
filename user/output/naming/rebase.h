/* SPDX-License-Identifier: Apache-2.0 */
/*
 * naming/rebase: corrects old traces. If text does not start on a page of its own (lld, mold), they took the page for
 * one of the previous segment, and all its addresses are too low. Only the file shows which.
 */
#ifndef ALYS_NAMING_REBASE_H
#define ALYS_NAMING_REBASE_H

#include "catalog/catalog.h"
#include "elf/elf.h"

/* Zeroed but for its catalog. A trace may have any number of modules, even of one build: their stacks are visited once. */
struct rebase {
	struct catalog *catalog;
	struct rebase_mapping *mappings; /* by module */
	struct rebase_move *moves;
	size_t mappings_cnt, mappings_cap, moves_cnt, moves_cap;
};

/* Corrects the mappings of a module whose file is e. 0 or -ENOMEM. */
int rebase_module(struct rebase *r, struct module_id module, const struct elf *e);
/* Corrects all frames in corrected mappings, and frees the struct's memory. 0 or -ENOMEM. */
int rebase_stacks(struct rebase *r);

#endif
